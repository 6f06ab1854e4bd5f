/* Table look-ups with AVX-512: a row of the table is one register, whose excesses are summed in 16 bits. */
#include <immintrin.h>

#include "avx512/avx512.h"
#include "coded.h"

namespace gloaming {
namespace {

/** Prefetch distance in rows: the table is larger than the second-level cache. */
constexpr uint32_t kAhead = 32;

void addTo(uint32_t* sums, __m512i values) {
  alignas(64) uint16_t each[kCodedQueries];
  _mm512_store_si512(each, values);
  for (uint32_t query = 0; query < kCodedQueries; ++query) sums[query] += each[query];
}

}  // namespace

void avx512CodedRows(const TableRow* table, const uint16_t* codes, uint32_t count, uint8_t floor,
                     const Diagonals& diagonals, uint16_t* halves, uint32_t halfCount, uint32_t* excess,
                     uint32_t* votes) {
  const __m512i weights = _mm512_set1_epi16(kWeightBits), floors = _mm512_set1_epi16(floor);
  for (uint32_t query = 0; query < kCodedQueries; ++query) excess[query] = votes[query] = 0;
  for (uint32_t first = 0; first < count; first += kVoteRows) {
    const uint32_t end = count - first < kVoteRows ? count : first + kVoteRows;
    __m512i sums = _mm512_setzero_si512();
    // Rows vote in pairs, and an odd number ends with none.
    uint32_t voters[kVoteRows + 1];
    voters[end - first] = 0;
    for (uint32_t row = first; row < end; ++row) {
      const uint32_t ahead = row + kAhead < count ? row + kAhead : row;
      _mm_prefetch(reinterpret_cast<const char*>(table + codes[ahead]), _MM_HINT_T0);
      const uint16_t* entries = table[codes[row]].entries;
      const __m512i all = _mm512_load_si512(entries);
      sums = _mm512_add_epi16(sums, _mm512_subs_epu16(_mm512_srli_epi16(all, 8), floors));
      voters[row - first] = _mm512_test_epi16_mask(all, weights);
    }
    castVotes(voters, first, end - first, table, codes + first, diagonals, halves);
    addTo(excess, sums);
  }
  __m512i best = _mm512_setzero_si512(), own = _mm512_loadu_si512(halves);
  for (uint32_t half = 0; half < halfCount; ++half) {
    const bool hasNext = half + 1 < halfCount;
    const __m512i next =
        hasNext ? _mm512_loadu_si512(halves + size_t{half + 1} * kCodedQueries) : _mm512_setzero_si512();
    best = _mm512_max_epu16(best, _mm512_adds_epu16(own, next));
    own = next;
  }
  addTo(votes, best);
}

}  // namespace gloaming
