/* Seeded tokens and alignment tasks for tests and benches. */
#ifndef GLOAMING_TEST_RANDOM_TOKENS_H
#define GLOAMING_TEST_RANDOM_TOKENS_H

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "kernels.h"

namespace gloaming {

/* Returns the seed of a run: the argument, or one from the clock if it is null. Prints it, so that the run can be
 * repeated. */
inline uint64_t seedOf(const char* program, const char* given) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : static_cast<uint64_t>(now) % 1'000'000;
  std::printf("%s: seed %llu\n", program, static_cast<unsigned long long>(seed));
  return seed;
}

using Random = std::mt19937_64;

inline uint32_t below(Random& random, uint32_t limit) { return static_cast<uint32_t>(random() % limit); }

/* Rows of random direction, squared norm close to, and never above, 32,767. */
inline std::vector<int8_t> randomRows(Random& random, uint32_t length, uint32_t dimension) {
  std::normal_distribution<double> normal;
  std::vector<int8_t> rows(size_t{length} * dimension);
  std::vector<double> direction(dimension);
  for (uint32_t i = 0; i < length; ++i) {
    double norm = 0;
    for (double& x : direction) {
      x = normal(random);
      norm += x * x;
    }
    norm = std::sqrt(norm);
    for (uint32_t k = 0; k < dimension; ++k) {
      const double value = std::trunc(direction[k] / norm * 181);
      rows[size_t{i} * dimension + k] = static_cast<int8_t>(std::fmin(127, std::fmax(-128, value)));
    }
  }
  return rows;
}

/* Profiles of all kinds, squared norm close to 32,767 at most: a few amino acids or many, one alone, none. The bytes
 * after the values are noise. */
inline std::vector<int8_t> randomProfiles(Random& random, uint32_t length) {
  std::vector<int8_t> rows(size_t{length} * kProfileWidth);
  for (uint32_t i = 0; i < length; ++i) {
    int8_t* row = rows.data() + size_t{i} * kProfileWidth;
    for (uint32_t k = kProfileValues; k < kProfileWidth; ++k) row[k] = static_cast<int8_t>(below(random, 256));
    // 2 × 127² = 32,258; 20 × 40² = 32,000.
    const uint32_t fate = below(random, 8), most = fate < 2 ? 0 : fate < 5 ? 40 : 12;
    for (uint32_t k = 0; k < kProfileValues; ++k) row[k] = static_cast<int8_t>(below(random, most + 1));
    for (uint32_t k = 0; fate == 1 && k < 2; ++k) row[below(random, kProfileValues)] = 127;
  }
  return rows;
}

/* Simulates a homolog of `rows`: most rows with noise, some replaced, some runs deleted or inserted. */
inline std::vector<int8_t> homologRows(Random& random, const std::vector<int8_t>& rows, uint32_t dimension) {
  std::vector<int8_t> homolog;
  const auto length = static_cast<uint32_t>(rows.size() / dimension);
  for (uint32_t i = 0; i < length; ++i) {
    const uint32_t fate = below(random, 40);
    if (fate == 0) i += below(random, 9);
    const uint32_t inserted = fate == 1 ? 1 + below(random, 9) : fate < 12 ? 1 : 0;
    const std::vector<int8_t> noise = randomRows(random, inserted, dimension);
    homolog.insert(homolog.end(), noise.begin(), noise.end());
    if (i >= length || (fate >= 2 && fate < 12)) continue;
    const auto row = rows.begin() + size_t{i} * dimension;
    homolog.insert(homolog.end(), row, row + dimension);
  }
  return homolog.empty() ? rows : homolog;
}

}  // namespace gloaming

#endif
