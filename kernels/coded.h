/* Votes for diagonals, which the coded kernels of all tables share. Internal to each file that includes it. */
#ifndef GLOAMING_CODED_H
#define GLOAMING_CODED_H

#include "kernels.h"

namespace gloaming {
namespace {

constexpr uint32_t kMaxVotes = UINT16_MAX;
/** Bits of an entry that are the weight of its vote. */
constexpr uint16_t kWeightBits = 0xf0;

inline uint32_t valueOf(uint16_t entry) { return entry >> 8; }
inline uint32_t weightOf(uint16_t entry) { return (entry & kWeightBits) >> 4; }
inline uint32_t groupOf(uint16_t entry) { return entry & (kRowGroups - 1); }

/* Adds the vote of one row of a target to half a band of one query. */
inline void vote(uint16_t entry, uint32_t query, uint32_t row, const Diagonals& diagonals, uint16_t* halves) {
  const uint32_t half = (row + diagonals.origins[query][groupOf(entry)]) >> diagonals.shifts[query];
  uint16_t& votes = halves[size_t{half} * kCodedQueries + query];
  const uint32_t sum = votes + weightOf(entry);
  votes = static_cast<uint16_t>(sum < kMaxVotes ? sum : kMaxVotes);
}

/** Rows whose voters are collected before they vote: their entries stay in the first-level cache. An even number, and
 * at most 257, so that 16 bits hold the sum of so many values. */
constexpr uint32_t kVoteRows = 256;
/** Voters of two rows that are written without a branch. More are rare, and cost a branch that is not predicted. */
constexpr uint32_t kUsualVoters = 4;

/* Lets the voters of up to kVoteRows rows vote. A loop over the bits of each row would mispredict its end most times.
 * Therefore the voters are listed first, without branches.
 * voters [rowCount + 1]: a bit for each query that has a weight, and zeros behind the last row. codes: of these rows */
inline void castVotes(const uint32_t* voters, uint32_t firstRow, uint32_t rowCount, const TableRow* table,
                      const uint16_t* codes, const Diagonals& diagonals, uint16_t* halves) {
  uint16_t places[kVoteRows * kCodedQueries + kUsualVoters];
  uint32_t count = 0;
  for (uint32_t row = 0; row < rowCount; row += 2) {
    uint64_t bits = voters[row] | uint64_t{voters[row + 1]} << 32;
    const auto most = static_cast<uint32_t>(__builtin_popcountll(bits));
    const auto write = [&](uint32_t k) {
      // The top bit keeps the number defined where no voter is left; such a place is overwritten.
      const int bit = __builtin_ctzll(bits | uint64_t{1} << 63);
      places[count + k] = static_cast<uint16_t>(row * kCodedQueries + static_cast<uint32_t>(bit));
      bits &= bits - 1;
    };
    for (uint32_t k = 0; k < kUsualVoters; ++k) write(k);
    for (uint32_t k = kUsualVoters; k < most; ++k) write(k);
    count += most;
  }
  for (uint32_t k = 0; k < count; ++k) {
    const uint32_t row = places[k] / kCodedQueries, query = places[k] % kCodedQueries;
    vote(table[codes[row]].entries[query], query, firstRow + row, diagonals, halves);
  }
}

}  // namespace
}  // namespace gloaming

#endif
