/* Proteins for comparisons with other programs: from a file, or simulated. */
#ifndef GLOAMING_TEST_PROTEINS_H
#define GLOAMING_TEST_PROTEINS_H

#include <fstream>
#include <string>
#include <vector>

#include "test/random_tokens.h"

namespace gloaming {

constexpr size_t kMostProteins = 3'000;

inline std::vector<std::string> readProteins(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> proteins;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '>') {
      if (proteins.size() == kMostProteins) break;
      proteins.emplace_back();
    } else if (!proteins.empty()) {
      proteins.back() += line;
    }
  }
  return proteins;
}

/* Simulates a protein: equally frequent letters, runs of one letter, and ambiguity codes. */
inline std::string simulateProtein(Random& random) {
  constexpr char kLetters[] = "ACDEFGHIKLMNPQRSTVWYACDEFGHIKLMNPQRSTVWYBZX";
  std::string protein;
  const uint32_t length = 1 + below(random, below(random, 10) == 0 ? 2'000 : 400);
  while (protein.size() < length) {
    protein.append(below(random, 50) == 0 ? 10 : 1, kLetters[below(random, sizeof kLetters - 1)]);
  }
  return protein;
}

/* Mutates a protein: substitutions, deletions and insertions. */
inline std::string mutate(Random& random, const std::string& protein) {
  const uint32_t rarity = 2 + below(random, 20);
  std::string homolog;
  for (size_t i = 0; i < protein.size(); ++i) {
    const uint32_t fate = below(random, rarity * 4);
    if (fate == 0) i += below(random, 12);
    else if (fate == 1) homolog += simulateProtein(random).substr(0, 12);
    else if (fate < 5) homolog += simulateProtein(random)[0];
    else homolog += protein[i];
  }
  return homolog.empty() ? protein : homolog;
}

/* The proteins of a FASTA file, or simulated ones without a path. */
inline std::vector<std::string> proteinsOf(const char* path, Random& random) {
  if (path != nullptr) return readProteins(path);
  std::vector<std::string> proteins;
  for (int k = 0; k < 500; ++k) proteins.push_back(simulateProtein(random));
  return proteins;
}

}  // namespace gloaming

#endif
