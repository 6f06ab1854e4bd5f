/* Table look-ups with AVX2: a row of the table is one register. Its even and odd bytes have separate 16-bit sums. */
#include <immintrin.h>

#include "avx2/avx2.h"

namespace gloaming {
namespace {

/** Rows whose sums fit in 16 bits: 257 × 255 = 65,535. */
constexpr uint32_t kRows16 = 257;
/** Prefetch distance in rows: the table is larger than the second-level cache. */
constexpr uint32_t kAhead = 16;

/** 32 sums of bytes. */
struct Sums {
  __m256i even = _mm256_setzero_si256(), odd = _mm256_setzero_si256();

  void add(__m256i bytes) {
    even = _mm256_add_epi16(even, _mm256_and_si256(bytes, _mm256_set1_epi16(0xff)));
    odd = _mm256_add_epi16(odd, _mm256_srli_epi16(bytes, 8));
  }
  void addTo(uint32_t* sums) const {
    alignas(32) uint16_t evens[16], odds[16];
    _mm256_store_si256(reinterpret_cast<__m256i*>(evens), even);
    _mm256_store_si256(reinterpret_cast<__m256i*>(odds), odd);
    for (uint32_t pair = 0; pair < 16; ++pair) {
      sums[2 * pair] += evens[pair];
      sums[2 * pair + 1] += odds[pair];
    }
  }
};

}  // namespace

void avx2CodedRows(const uint8_t* table, const uint16_t* codes, uint32_t count, uint8_t floor, uint32_t* closeness,
                   uint32_t* excess) {
  static_assert(kCodedQueries == sizeof(__m256i), "a row of the table is a register");
  const __m256i floors = _mm256_set1_epi8(static_cast<char>(floor));
  for (uint32_t first = 0; first < count; first += kRows16) {
    const uint32_t end = count - first < kRows16 ? count : first + kRows16;
    Sums close, above;
    for (uint32_t row = first; row < end; ++row) {
      const uint32_t ahead = row + kAhead < count ? row + kAhead : row;
      _mm_prefetch(reinterpret_cast<const char*>(table + size_t{codes[ahead]} * kCodedQueries), _MM_HINT_T0);
      const uint8_t* at = table + size_t{codes[row]} * kCodedQueries;
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
      close.add(bytes);
      above.add(_mm256_subs_epu8(bytes, floors));
    }
    close.addTo(closeness);
    above.addTo(excess);
  }
}

}  // namespace gloaming
