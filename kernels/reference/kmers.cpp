#include <algorithm>

#include "reference/reference.h"

namespace gloaming {
namespace {

/* Best score of a stretch that starts at a pair of letters and goes on in one direction, 0 if none is positive. */
int32_t bestStretch(const KmerTable& table, const uint8_t* query, const uint8_t* target, int step) {
  int32_t score = 0, best = 0;
  for (; best - score <= kKmerDrop; query += step, target += step) {
    score += table.scores[*query * kKmerWidth + *target];
    best = std::max(best, score);
  }
  return best;
}

}  // namespace

/* Writes for each query the best score of two similar k-mers with their extensions. The left one starts at the last
 * letter of the k-mers, and thus includes them. The right one starts at the next letter.
 *
 * Shape   letters [count], with kNoAminoAcid before and after; best [kCodedQueries]
 * Range   0, or kKmerLeast and more: at most 65,535 × 11 < 2^20
 * Unit    BLOSUM62 scores
 * Order   none: the best of integers. The stretches that fast kernels remember are not used. */
void referenceKmerRows(const KmerTable& table, const uint8_t* letters, uint32_t count, uint32_t, Stretch*,
                       uint32_t* best) {
  std::fill_n(best, kCodedQueries, 0);
  for (uint32_t row = 0; row + kKmerLength <= count; row += kKmerStep) {
    uint32_t kmer = 0;
    for (uint32_t k = 0; k < kKmerLength; ++k) kmer = kmer * kKmerLetters + letters[row + k];
    if ((table.bits[kmer / 64] >> kmer % 64 & 1) == 0) continue;
    uint32_t number = table.before[kmer / 64];
    for (uint32_t bit = 0; bit < kmer % 64; ++bit) number += table.bits[kmer / 64] >> bit & 1;
    for (uint32_t at = table.starts[number]; at < table.starts[number + 1]; ++at) {
      const uint8_t* query = table.letters + table.places[at] + kKmerLength;
      const uint8_t* target = letters + row + kKmerLength;
      const int32_t score = bestStretch(table, query - 1, target - 1, -1) + bestStretch(table, query, target, 1);
      uint32_t& bestOfQuery = best[table.queries[table.places[at]]];
      bestOfQuery = std::max(bestOfQuery, static_cast<uint32_t>(score));
    }
  }
}

}  // namespace gloaming
