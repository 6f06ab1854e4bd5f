#include <algorithm>

#include "coded.h"
#include "reference/reference.h"

namespace gloaming {

/* Writes for each query the sum of max(0, dot product − floor) over the rows of a target, and the votes of its best
 * band. A band is half a band and the next one.
 *
 * Shape   table [kCodeCount]; codes [count], centroid ids; halves [halfCount × kCodedQueries]; excess, votes
 *         [kCodedQueries]
 * Range   count 1..65,535, so that excess is at most 65,535 × 255 < 2^32; votes 0..65,535
 * Unit    excess: 128ths of integer dot products (engine/coded_search.h); votes: octaves of rarity
 * Order   none: integer arithmetic, and a sum of weights saturates at the same value in any order
 */
void referenceCodedRows(const TableRow* table, const uint16_t* codes, uint32_t count, uint8_t floor,
                        const Diagonals& diagonals, uint16_t* halves, uint32_t halfCount, uint32_t* excess,
                        uint32_t* votes) {
  std::fill_n(excess, kCodedQueries, 0);
  std::fill_n(votes, kCodedQueries, 0);
  for (uint32_t row = 0; row < count; ++row) {
    const uint16_t* entries = table[codes[row]].entries;
    for (uint32_t query = 0; query < kCodedQueries; ++query) {
      if (valueOf(entries[query]) > floor) excess[query] += valueOf(entries[query]) - floor;
      if (weightOf(entries[query]) > 0) vote(entries[query], query, row, diagonals, halves);
    }
  }
  for (uint32_t half = 0; half < halfCount; ++half) {
    for (uint32_t query = 0; query < kCodedQueries; ++query) {
      const uint32_t own = halves[size_t{half} * kCodedQueries + query];
      const uint32_t next = half + 1 < halfCount ? halves[size_t{half + 1} * kCodedQueries + query] : 0;
      votes[query] = std::max(votes[query], std::min(own + next, kMaxVotes));
    }
  }
}

}  // namespace gloaming
