/* Best ungapped scores of simulated proteins on every table of kernels, against all pairs of k-mers in plain loops. */
#ifndef GLOAMING_TEST_KMER_CASE_H
#define GLOAMING_TEST_KMER_CASE_H

#include "engine/kmer_search.h"
#include "reference/reference.h"
#include "test/proteins.h"

namespace gloaming {

inline std::vector<uint8_t> textOf(const std::string& protein) { return {protein.begin(), protein.end()}; }

/* Letters of one protein, with kNoAminoAcid before and after. */
inline std::vector<uint8_t> kmerLettersOf(const std::string& protein) {
  const auto length = static_cast<uint32_t>(protein.size());
  const TargetLetters letters({0, length}, textOf(protein).data(), length);
  return {letters.letters(0) - 1, letters.letters(0) + length + 1};
}

/* Best score of rows from (i, j) on in one direction, with the X-drop. */
inline int32_t extensionOf(const int8_t* scores, const uint8_t* query, const uint8_t* target, int64_t i, int64_t j,
                           int step) {
  int32_t score = 0, best = 0;
  for (; best - score <= kKmerDrop; i += step, j += step) {
    score += scores[query[i] * kKmerWidth + target[j]];
    best = std::max(best, score);
  }
  return best;
}

/* Best score of two proteins, from the score of each pair of k-mers. */
inline uint32_t bestOfAllPairs(const int8_t* scores, const std::string& query, const std::string& target) {
  const std::vector<uint8_t> q = kmerLettersOf(query), t = kmerLettersOf(target);
  int32_t best = 0;
  for (uint32_t j = 1; j + kKmerLength < t.size(); j += kKmerStep) {
    for (uint32_t i = 1; i + kKmerLength < q.size(); ++i) {
      int32_t similarity = 0;
      for (uint32_t k = 0; k < kKmerLength; ++k) similarity += scores[q[i + k] * kKmerWidth + t[j + k]];
      if (similarity < kKmerLeast) continue;
      const int64_t end = i + kKmerLength, targetEnd = j + kKmerLength;
      best = std::max(best, extensionOf(scores, q.data(), t.data(), end - 1, targetEnd - 1, -1) +
                                extensionOf(scores, q.data(), t.data(), end, targetEnd, 1));
    }
  }
  return static_cast<uint32_t>(best);
}

/* A protein for these tests. Half of them are of few letters, so that k-mers repeat and stretches overlap. */
inline std::string kmerProtein(Random& random) {
  std::string protein = simulateProtein(random);
  if (below(random, 2) == 0) {
    for (char& letter : protein) letter = "KKE"[below(random, 3)];
    protein.resize(std::min<size_t>(protein.size(), 150));
  }
  return protein;
}

/* Compares the scores of some proteins, of which half are homologs of a query. Returns the number of comparisons. */
inline uint32_t checkKmers(uint64_t seed) {
  Random random(seed);
  std::vector<std::string> queries, targets;
  for (uint32_t k = 1 + below(random, 6); k > 0; --k) queries.push_back(kmerProtein(random));
  for (uint32_t k = 0; k < 8; ++k) {
    const std::string& query = queries[below(random, static_cast<uint32_t>(queries.size()))];
    targets.push_back(k % 2 == 0 ? mutate(random, query) : kmerProtein(random));
  }
  std::vector<std::vector<uint8_t>> texts;
  for (const std::string& query : queries) texts.push_back(textOf(query));
  const KmerPlaces places(texts);
  const KmerTable table = places.view();
  size_t tableCount = 0;
  const Kernels* const* all = compiledKernels(&tableCount);
  for (size_t k = 0; k < tableCount; ++k) {
    if (!canRun(*all[k])) continue;
    std::vector<Stretch> stretches(kStretchCount);
    uint32_t first = 0;
    for (const std::string& target : targets) {
      const std::vector<uint8_t> letters = kmerLettersOf(target);
      const auto length = static_cast<uint32_t>(target.size());
      uint32_t best[kCodedQueries];
      all[k]->kmerRows(table, letters.data() + 1, length, first, stretches.data(), best);
      first += length + 1;
      for (size_t query = 0; query < queries.size(); ++query) {
        if (best[query] == bestOfAllPairs(table.scores, queries[query], target)) continue;
        std::fprintf(stderr, "%s differs in k-mers; seed %llu\n%s\n%s\n", all[k]->name,
                     static_cast<unsigned long long>(seed), queries[query].c_str(), target.c_str());
        std::exit(1);
      }
    }
  }
  return static_cast<uint32_t>(queries.size() * targets.size());
}

}  // namespace gloaming

#endif
