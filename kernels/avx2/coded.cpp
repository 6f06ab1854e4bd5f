/* Table look-ups with AVX2: a row of the table is two registers, whose excesses are summed in 16 bits. */
#include <immintrin.h>

#include "avx2/avx2.h"
#include "coded.h"

namespace gloaming {
namespace {

/** Prefetch distance in rows: the table is larger than the second-level cache. */
constexpr uint32_t kAhead = 32;

__m256i load(const uint16_t* values) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values)); }

/* Returns a bit for each of the 32 entries: whether it has a weight. */
uint32_t votersOf(__m256i low, __m256i high) {
  const __m256i bits = _mm256_set1_epi16(kWeightBits), zero = _mm256_setzero_si256();
  const __m256i none = _mm256_packs_epi16(_mm256_cmpeq_epi16(_mm256_and_si256(low, bits), zero),
                                          _mm256_cmpeq_epi16(_mm256_and_si256(high, bits), zero));
  // Packing interleaves the halves of both registers.
  return ~static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_permute4x64_epi64(none, 0xd8)));
}

void addTo(uint32_t* sums, __m256i values) {
  alignas(32) uint16_t each[16];
  _mm256_store_si256(reinterpret_cast<__m256i*>(each), values);
  for (uint32_t k = 0; k < 16; ++k) sums[k] += each[k];
}

/* Writes the votes of the best band of 16 queries. */
void bestBands(const uint16_t* halves, uint32_t halfCount, uint32_t* votes) {
  __m256i best = _mm256_setzero_si256(), own = load(halves);
  for (uint32_t half = 0; half < halfCount; ++half) {
    const bool hasNext = half + 1 < halfCount;
    const __m256i next = hasNext ? load(halves + size_t{half + 1} * kCodedQueries) : _mm256_setzero_si256();
    best = _mm256_max_epu16(best, _mm256_adds_epu16(own, next));
    own = next;
  }
  for (uint32_t k = 0; k < 16; ++k) votes[k] = 0;
  addTo(votes, best);
}

}  // namespace

void avx2CodedRows(const TableRow* table, const uint16_t* codes, uint32_t count, uint8_t floor,
                   const Diagonals& diagonals, uint16_t* halves, uint32_t halfCount, uint32_t* excess,
                   uint32_t* votes) {
  const __m256i floors = _mm256_set1_epi16(floor);
  for (uint32_t query = 0; query < kCodedQueries; ++query) excess[query] = 0;
  for (uint32_t first = 0; first < count; first += kVoteRows) {
    const uint32_t end = count - first < kVoteRows ? count : first + kVoteRows;
    __m256i lowSums = _mm256_setzero_si256(), highSums = _mm256_setzero_si256();
    // Rows vote in pairs, and an odd number ends with none.
    uint32_t voters[kVoteRows + 1];
    voters[end - first] = 0;
    for (uint32_t row = first; row < end; ++row) {
      const uint32_t ahead = row + kAhead < count ? row + kAhead : row;
      _mm_prefetch(reinterpret_cast<const char*>(table + codes[ahead]), _MM_HINT_T0);
      const uint16_t* entries = table[codes[row]].entries;
      const __m256i low = load(entries), high = load(entries + 16);
      lowSums = _mm256_add_epi16(lowSums, _mm256_subs_epu16(_mm256_srli_epi16(low, 8), floors));
      highSums = _mm256_add_epi16(highSums, _mm256_subs_epu16(_mm256_srli_epi16(high, 8), floors));
      voters[row - first] = votersOf(low, high);
    }
    castVotes(voters, first, end - first, table, codes + first, diagonals, halves);
    addTo(excess, lowSums);
    addTo(excess + 16, highSums);
  }
  bestBands(halves, halfCount, votes);
  bestBands(halves + 16, halfCount, votes + 16);
}

}  // namespace gloaming
