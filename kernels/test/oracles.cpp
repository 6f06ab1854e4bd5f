/* Compares affine scores with independent programs. With BLOSUM62 as substitution score and gaps of 11 + (k − 1), the
 * affine score of every pair of proteins must equal that of parasail, of SSW and, if installed, of EMBOSS water. (Gaps
 * "11/1" of BLAST cost 11 + k; those of the three programs cost 11 + (k − 1), as here.) All tables that run on this
 * machine are compared. The price of each path, residue by residue, must equal its score. Prints JSON.
 *
 *   kernels-oracles [pairs] [seed] [proteins.fasta]      default: 1,000 pairs of simulated proteins
 *
 * Half of the targets are mutated copies of the query, so that gaps and high scores occur. */
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "test/blosum.h"
#include "test/proteins.h"
#include "test/ssw_query.h"

namespace gloaming {
namespace {

constexpr uint32_t kTargetsOfQuery = 50;

int parasailScore(const std::string& query, const std::string& target) {
  parasail_result_t* result =
      parasail_sw_striped_sat(query.c_str(), static_cast<int>(query.size()), target.c_str(),
                              static_cast<int>(target.size()), kGapOpen, kGapExtend, &parasail_blosum62);
  const int score = result->score;
  parasail_result_free(result);
  return score;
}

/* water's scores of one query with several targets; empty if it is not installed. */
std::vector<int> waterScores(const std::string& query, const std::vector<std::string>& targets) {
  const std::string folder = "/tmp/kernels-oracles-" + std::to_string(getpid());
  std::ofstream(folder + ".q") << ">q\n" << query << "\n";
  std::ofstream many(folder + ".t");
  for (size_t t = 0; t < targets.size(); ++t) many << ">t" << t << "\n" << targets[t] << "\n";
  many.close();
  const std::string command = "water -asequence " + folder + ".q -bsequence " + folder +
                              ".t -gapopen 11 -gapextend 1 -datafile EBLOSUM62 -sprotein1 -sprotein2 -stdout -auto "
                              "-aformat3 score 2>/dev/null";
  std::vector<int> scores;
  std::FILE* pipe = popen(command.c_str(), "r");
  char line[4096];
  while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) {
    double score = 0;
    if (std::sscanf(line, "q %*s %*d (%lf)", &score) == 1) scores.push_back(static_cast<int>(score));
  }
  if (pipe != nullptr) pclose(pipe);
  unlink((folder + ".q").c_str());
  unlink((folder + ".t").c_str());
  return scores;
}

void require(bool holds, const char* what, const std::string& query, const std::string& target) {
  if (holds) return;
  std::fprintf(stderr, "kernels-oracles: %s for\n%s\n%s\n", what, query.c_str(), target.c_str());
  std::exit(1);
}

/* Price of a path: the BLOSUM62 scores of its pairs less the costs of its gaps. */
int32_t priceOf(const AffineAlignment& alignment, const std::string& query, const std::string& target) {
  int32_t price = 0;
  uint32_t i = alignment.queryStart, j = alignment.targetStart;
  for (uint32_t r = 0; r < alignment.runCount; ++r) {
    const uint32_t kind = alignment.runs[r] & 3, length = alignment.runs[r] >> 2;
    if (kind != kPair) price -= kGapOpen + static_cast<int32_t>(length - 1) * kGapExtend;
    for (uint32_t k = 0; kind == kPair && k < length; ++k) price += blosumScore(query[i + k], target[j + k]);
    if (kind != kDeletion) i += length;
    if (kind != kInsertion) j += length;
  }
  return i == alignment.queryEnd && j == alignment.targetEnd ? price : -1;
}

using Tables = std::vector<std::unique_ptr<const BlosumQuery>>;

/* Packs the query for every table that runs on this machine. */
Tables tablesOf(const std::string& query) {
  size_t count = 0;
  const Kernels* const* all = compiledKernels(&count);
  Tables tables;
  for (size_t k = 0; k < count; ++k) {
    if (canRun(*all[k])) tables.push_back(std::make_unique<const BlosumQuery>(*all[k], query));
  }
  return tables;
}

/* All tables return parasail's score, alone and in batches, and a path of this price.
 * Returns the alignment, whose runs are void. */
AffineAlignment checkTables(const Tables& tables, const std::string& query, const std::string& target) {
  const int32_t expected = parasailScore(query, target);
  const std::vector<int8_t> rows = blosumTarget(target);
  AffineAlignment alignment{};
  for (const auto& table : tables) {
    require(table->score(rows) == expected, "the affine score differs from parasail's", query, target);
    for (const int32_t score : table->scores({rows, rows})) {
      require(score == expected, "a score of a batch differs from parasail's", query, target);
    }
    alignment = table->align(rows);
    require(alignment.score == expected, "the score of the alignment differs from parasail's", query, target);
    require(priceOf(alignment, query, target) == expected, "the price of the path is not its score", query, target);
  }
  return alignment;
}

/* Returns the number of pairs that water scored. */
uint32_t checkPairs(const std::vector<std::string>& proteins, uint32_t pairs, Random& random) {
  uint32_t watered = 0;
  const auto any = [&]() -> const std::string& {
    return proteins[below(random, static_cast<uint32_t>(proteins.size()))];
  };
  for (uint32_t done = 0; done < pairs;) {
    const std::string& query = any();
    const Tables tables = tablesOf(query);
    std::vector<std::string> targets;
    std::vector<int> scores;
    for (uint32_t t = 0; t < kTargetsOfQuery && done < pairs; ++t, ++done) {
      const std::string target = t % 2 == 0 ? any() : mutate(random, query);
      const AffineAlignment alignment = checkTables(tables, query, target);
      const int32_t theirs = SswQuery(query).score(sswLetters(target));
      require(alignment.score == theirs, "the affine score differs from SSW's", query, target);
      // EMBOSS 6.6 overlooks a best cell in the first row or column of its matrix.
      if (alignment.queryEnd <= 1 || alignment.targetEnd <= 1) continue;
      targets.push_back(target);
      scores.push_back(alignment.score);
    }
    const std::vector<int> water = waterScores(query, targets);
    if (water.empty()) continue;
    require(water.size() == targets.size(), "water leaves out a target", query, "");
    for (size_t t = 0; t < water.size(); ++t) {
      require(water[t] == scores[t], "the affine score differs from water's", query, targets[t]);
    }
    watered += static_cast<uint32_t>(water.size());
  }
  return watered;
}

/* Checks a score that exceeds 16 bits, also in SSW. */
int32_t checkGiant(Random& random) {
  std::string giant;
  while (giant.size() < 9'000) giant += simulateProtein(random);
  std::string homolog = giant;
  for (int gap = 0; gap < 20; ++gap) {
    homolog.insert(below(random, 9'000), simulateProtein(random).substr(0, 1 + below(random, 30)));
  }
  const int32_t score = checkTables(tablesOf(giant), giant, homolog).score;
  require(score > INT16_MAX, "the giant's score fits in 16 bits", giant, homolog);
  return score;
}

}  // namespace
}  // namespace gloaming

int main(int argc, char** argv) {
  using namespace gloaming;
  const uint32_t pairs = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 1'000;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : static_cast<uint64_t>(std::time(nullptr));
  Random random(seed);
  const std::vector<std::string> proteins = proteinsOf(argc > 3 ? argv[3] : nullptr, random);
  std::fprintf(stderr, "kernels-oracles: %zu %s proteins, seed %llu\n", proteins.size(),
               argc > 3 ? "real" : "simulated", static_cast<unsigned long long>(seed));
  if (proteins.empty()) return 1;
  const uint32_t watered = checkPairs(proteins, pairs, random);
  std::printf("{\"parasail_pairs\":%u,\"ssw_pairs\":%u,\"water_pairs\":%u,\"giant_score\":%d}\n", pairs, pairs, watered,
              checkGiant(random));
  return 0;
}
