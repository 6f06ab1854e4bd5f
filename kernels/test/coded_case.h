/* Look-ups of one random table on every table of kernels against the reference. */
#ifndef GLOAMING_TEST_CODED_CASE_H
#define GLOAMING_TEST_CODED_CASE_H

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "reference/reference.h"
#include "test/random_tokens.h"

namespace gloaming {

/** Both kinds of sums of all queries of a table, which kernels add to. */
struct CodedSums {
  uint32_t closeness[kCodedQueries], excess[kCodedQueries];
};

/* Compares one random table. In one case of eight all its bytes are 255, for the largest sums. */
inline void checkCoded(uint64_t seed, uint32_t count) {
  Random random(seed);
  const bool isFull = below(random, 8) == 0;
  std::vector<uint8_t> table(size_t{kCodeCount} * kCodedQueries, 255);
  for (size_t at = 0; !isFull && at < table.size(); at += sizeof(uint64_t)) {
    const uint64_t bytes = random();
    std::memcpy(table.data() + at, &bytes, sizeof bytes);
  }
  std::vector<uint16_t> codes(count);
  for (uint16_t& code : codes) code = static_cast<uint16_t>(random());
  const auto floor = static_cast<uint8_t>(below(random, 256));
  CodedSums start;
  for (uint32_t q = 0; q < kCodedQueries; ++q) {
    start.closeness[q] = below(random, 1'000);
    start.excess[q] = below(random, 1'000);
  }
  CodedSums expected = start;
  referenceCodedRows(table.data(), codes.data(), count, floor, expected.closeness, expected.excess);
  size_t tableCount = 0;
  const Kernels* const* all = compiledKernels(&tableCount);
  for (size_t k = 0; k < tableCount; ++k) {
    if (!canRun(*all[k])) continue;
    CodedSums found = start;
    all[k]->codedRows(table.data(), codes.data(), count, floor, found.closeness, found.excess);
    if (std::memcmp(&found, &expected, sizeof found) == 0) continue;
    std::fprintf(stderr, "%s differs from the reference in look-ups; seed %llu, %u codes\n", all[k]->name,
                 static_cast<unsigned long long>(seed), count);
    std::exit(1);
  }
}

}  // namespace gloaming

#endif
