/* Look-ups of one random table on every table of kernels against the reference. */
#ifndef GLOAMING_TEST_CODED_CASE_H
#define GLOAMING_TEST_CODED_CASE_H

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "engine/coded_search.h"
#include "reference/reference.h"
#include "test/random_tokens.h"

namespace gloaming {

/** Both results of all queries of a table. */
struct CodedScores {
  uint32_t excess[kCodedQueries], votes[kCodedQueries];
};

/* Returns a table of random entries, of which one in `rarity` has a weight. */
inline std::vector<TableRow> randomTable(Random& random, uint32_t rarity) {
  std::vector<TableRow> table(kCodeCount);
  for (TableRow& row : table) {
    for (uint16_t& entry : row.entries) {
      entry = static_cast<uint16_t>(random());
      if (below(random, rarity) != 0) entry = static_cast<uint16_t>(entry & ~0xf0u);
    }
  }
  return table;
}

/* Compares one random table. In one case of eight all its bits are set, for the largest sums and saturated votes. */
inline void checkCoded(uint64_t seed, uint32_t count) {
  Random random(seed);
  const bool isFull = below(random, 8) == 0;
  std::vector<TableRow> table = randomTable(random, 1 + below(random, 40));
  std::vector<uint32_t> lengths(1 + below(random, kCodedQueries));
  for (uint32_t& length : lengths) length = 1 + below(random, below(random, 8) == 0 ? kMaxLength : 700);
  if (isFull) std::memset(table.data(), 255, table.size() * sizeof(TableRow));
  std::vector<uint16_t> codes(count);
  for (uint16_t& code : codes) code = static_cast<uint16_t>(random());
  const auto floor = static_cast<uint8_t>(below(random, 256));
  const Diagonals diagonals = diagonalsOf(lengths);
  uint32_t halfCount = 1;
  for (uint32_t q = 0; q < kCodedQueries; ++q) {
    const uint32_t length = q < lengths.size() ? lengths[q] : 1;
    halfCount = std::max(halfCount, ((count + length) >> diagonals.shifts[q]) + 1);
  }
  const std::vector<uint16_t> zeros(size_t{halfCount} * kCodedQueries);
  const auto scoresBy = [&](decltype(Kernels::codedRows) codedRows) {
    std::vector<uint16_t> halves = zeros;
    CodedScores scores;
    codedRows(table.data(), codes.data(), count, floor, diagonals, halves.data(), halfCount, scores.excess,
              scores.votes);
    return scores;
  };
  const CodedScores expected = scoresBy(referenceCodedRows);
  size_t tableCount = 0;
  const Kernels* const* all = compiledKernels(&tableCount);
  for (size_t k = 0; k < tableCount; ++k) {
    if (!canRun(*all[k])) continue;
    const CodedScores found = scoresBy(all[k]->codedRows);
    if (std::memcmp(&found, &expected, sizeof found) == 0) continue;
    std::fprintf(stderr, "%s differs from the reference in look-ups; seed %llu, %u codes\n", all[k]->name,
                 static_cast<unsigned long long>(seed), count);
    std::exit(1);
  }
}

}  // namespace gloaming

#endif
