/* Oracles and peers that nobody here wrote, on the same core in the same run; prints JSON.
 *
 *   kernels-peers proteins.fasta [pairs] [seed]
 *
 * Oracles  with the substitution score set to BLOSUM62 and gaps of 11 + (k − 1) × 1, the affine score of every pair of
 *          proteins must equal that of parasail and of SSW, and of EMBOSS water for a sample, where it is installed.
 *          (Gaps "11/1" of BLAST cost 11 + k; the three programs' 11/1 is ours.)
 * Peers    parasail's own best variant for the same scores; OpenBLAS sgemm and maxima for MaxSim.
 * Times    processor time of one core; the ratio is theirs ÷ ours, above 1 where ours is faster
 */
#include <cblas.h>
#include <parasail.h>
#include <parasail/matrices/blosum62.h>
#include <ssw.h>
#include <unistd.h>

#include <fstream>

#include "reference/reference.h"
#include "test/blosum.h"
#include "test/clock.h"
#include "test/random_tokens.h"
#include "workspace.h"

namespace gloaming {
namespace {

constexpr int kGapOpen = 11, kGapExtend = 1, kRounds = 7;

std::vector<std::string> readProteins(const char* path, size_t limit) {
  std::ifstream file(path);
  std::vector<std::string> proteins;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '>') {
      if (proteins.size() == limit) break;
      proteins.emplace_back();
    } else if (!proteins.empty()) {
      proteins.back() += line;
    }
  }
  return proteins;
}

int parasailScore(const std::string& query, const std::string& target) {
  parasail_result_t* result = parasail_sw_striped_sat(query.c_str(), static_cast<int>(query.size()), target.c_str(),
                                                      static_cast<int>(target.size()), kGapOpen, kGapExtend,
                                                      &parasail_blosum62);
  const int score = result->score;
  parasail_result_free(result);
  return score;
}

std::vector<int8_t> letters(const std::string& protein) {
  std::vector<int8_t> numbers;
  for (const char letter : protein) {
    numbers.push_back(static_cast<int8_t>(parasail_blosum62.mapper[static_cast<uint8_t>(letter)]));
  }
  return numbers;
}

int sswScore(const std::string& query, const std::string& target) {
  int8_t matrix[24 * 24];
  for (int k = 0; k < 24 * 24; ++k) matrix[k] = static_cast<int8_t>(parasail_blosum62.matrix[k]);
  const std::vector<int8_t> read = letters(query), reference = letters(target);
  s_profile* profile = ssw_init(read.data(), static_cast<int32_t>(read.size()), matrix, 24, 2);
  s_align* alignment = ssw_align(profile, reference.data(), static_cast<int32_t>(reference.size()), kGapOpen,
                                 kGapExtend, 0, 0, 0, 15);
  const int score = alignment->score1;
  align_destroy(alignment);
  init_destroy(profile);
  return score;
}

/* water's scores of one query with several targets; empty if it is not installed. */
std::vector<int> waterScores(const std::string& query, const std::vector<std::string>& targets) {
  const std::string folder = "/tmp/kernels-peers-" + std::to_string(getpid());
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

void require(bool equal, const char* oracle, const std::string& query, const std::string& target) {
  if (equal) return;
  std::fprintf(stderr, "kernels-peers: the affine score differs from %s's for\n%s\n%s\n", oracle, query.c_str(),
               target.c_str());
  std::exit(1);
}

/* Returns how many pairs water saw. */
uint32_t checkOracles(const std::vector<std::string>& proteins, uint32_t pairs, Random& random) {
  uint32_t watered = 0;
  for (uint32_t done = 0; done < pairs;) {
    const std::string& query = proteins[below(random, static_cast<uint32_t>(proteins.size()))];
    const BlosumQuery blosum(query);
    std::vector<std::string> targets;
    std::vector<int> scores;
    for (int t = 0; t < 50; ++t, ++done) {
      targets.push_back(proteins[below(random, static_cast<uint32_t>(proteins.size()))]);
      scores.push_back(blosum.score(blosumTarget(targets.back())));
      require(scores.back() == parasailScore(query, targets.back()), "parasail", query, targets.back());
      require(scores.back() == sswScore(query, targets.back()), "SSW", query, targets.back());
    }
    const std::vector<int> water = waterScores(query, targets);
    for (size_t t = 0; t < water.size(); ++t) require(water[t] == scores[t], "water", query, targets[t]);
    watered += static_cast<uint32_t>(water.size());
  }
  return watered;
}

struct ParasailFigures {
  std::string best;
  double gcups = 0, ours = 0;
};

/* 300 residues against 200 targets of 350, BLOSUM62, scores only, one core. */
ParasailFigures timeParasail(const std::vector<std::string>& proteins) {
  std::string query, all;
  for (const std::string& protein : proteins) (query.size() < 300 ? query : all) += protein;
  query.resize(300);
  std::vector<std::string> targets;
  for (size_t t = 0; t < 200; ++t) targets.push_back(all.substr(t * 350, 350));
  std::vector<std::vector<int8_t>> rows;
  for (const std::string& target : targets) rows.push_back(blosumTarget(target));
  const BlosumQuery blosum(query);
  const double cells = 300.0 * 350 * static_cast<double>(targets.size());

  using Function = parasail_result_t* (*)(const parasail_profile_t*, const char*, int, int, int);
  using Create = parasail_profile_t* (*)(const char*, int, const parasail_matrix_t*);
  const struct { const char* name; Function function; Create create; } variants[] = {
      {"striped_sat", parasail_sw_striped_profile_sat, parasail_profile_create_sat},
      {"striped_16", parasail_sw_striped_profile_16, parasail_profile_create_16},
      {"scan_sat", parasail_sw_scan_profile_sat, parasail_profile_create_sat},
      {"scan_16", parasail_sw_scan_profile_16, parasail_profile_create_16},
  };
  ParasailFigures figures;
  std::vector<double> ours;
  for (int round = 0; round < kRounds; ++round) {
    const double start = processorSeconds();
    for (const auto& target : rows) blosum.score(target);
    ours.push_back(cells / (processorSeconds() - start) * 1e-9);
  }
  figures.ours = median(ours);
  for (const auto& variant : variants) {
    parasail_profile_t* profile = variant.create(query.c_str(), 300, &parasail_blosum62);
    std::vector<double> speeds;
    for (int round = 0; round < kRounds; ++round) {
      const double start = processorSeconds();
      for (const std::string& target : targets) {
        parasail_result_free(variant.function(profile, target.c_str(), 350, kGapOpen, kGapExtend));
      }
      speeds.push_back(cells / (processorSeconds() - start) * 1e-9);
    }
    parasail_profile_free(profile);
    if (median(speeds) > figures.gcups) figures = {variant.name, median(speeds), figures.ours};
  }
  return figures;
}

/* MaxSim of a 300-token query by sgemm with 350 target rows at a time and maxima of the product, both directions. */
MaxSim maxsimByBlas(const std::vector<float>& query, const float* target, uint32_t dimension,
                    std::vector<float>& product) {
  constexpr int kQuery = 300, kTarget = 350;
  const int width = static_cast<int>(dimension);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kTarget, kQuery, width, 1, target, width, query.data(), width,
              0, product.data(), kQuery);
  float closest[kQuery];
  std::fill_n(closest, kQuery, -1e9F);
  MaxSim sums{0, 0};
  for (int j = 0; j < kTarget; ++j) {
    const float* row = product.data() + j * kQuery;
    float best = -1e9F;
    for (int i = 0; i < kQuery; ++i) {
      best = row[i] > best ? row[i] : best;
      closest[i] = row[i] > closest[i] ? row[i] : closest[i];
    }
    sums.targetToQuery += static_cast<int32_t>(best);
  }
  for (const float value : closest) sums.queryToTarget += static_cast<int32_t>(value);
  return sums;
}

/* Seconds of OpenBLAS ÷ seconds of ours for 300 × 350 tokens of dimension 64, one core. */
double blasRatio() {
  constexpr uint32_t kDimension = 64, kTargets = 100;
  openblas_set_num_threads(1);
  Random random(3);
  const std::vector<int8_t> query = randomRows(random, 300, kDimension);
  const std::vector<int8_t> targets = randomRows(random, 350 * kTargets, kDimension);
  const std::vector<float> queryFloats(query.begin(), query.end()), targetFloats(targets.begin(), targets.end());
  std::vector<float> product(350 * 300);
  const MaxSimQuery packed({query.data(), 300, kDimension});
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    const double start = processorSeconds();
    MaxSim theirs{}, ours{};
    for (size_t t = 0; t < kTargets; ++t) {
      theirs = maxsimByBlas(queryFloats, targetFloats.data() + t * 350 * kDimension, kDimension, product);
    }
    const double middle = processorSeconds();
    for (size_t t = 0; t < kTargets; ++t) ours = packed.sums(targets.data() + t * 350 * kDimension, 350);
    ratios.push_back((middle - start) / (processorSeconds() - middle));
    if (theirs.queryToTarget != ours.queryToTarget || theirs.targetToQuery != ours.targetToQuery) std::abort();
  }
  return median(ratios);
}

}  // namespace
}  // namespace gloaming

int main(int argc, char** argv) {
  using namespace gloaming;
  if (argc < 2) {
    std::fprintf(stderr, "usage: kernels-peers proteins.fasta [pairs] [seed]\n");
    return 2;
  }
  const std::vector<std::string> proteins = readProteins(argv[1], 3000);
  const uint32_t pairs = argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 2000;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : static_cast<uint64_t>(time(nullptr));
  std::fprintf(stderr, "kernels-peers: %zu proteins, seed %llu\n", proteins.size(),
               static_cast<unsigned long long>(seed));
  Random random(seed);
  const uint32_t watered = checkOracles(proteins, pairs, random);
  const ParasailFigures parasail = timeParasail(proteins);
  std::printf("{\"oracles\":{\"parasail_pairs\":%u,\"ssw_pairs\":%u,\"water_pairs\":%u},"
              "\"affine\":{\"blosum_gcups\":%.2f,\"parasail\":\"%s\",\"parasail_gcups\":%.2f,\"parasail_ratio\":%.2f},"
              "\"maxsim\":{\"peers\":{\"openblas\":{\"core\":\"%s\",\"ratio\":%.2f}}}}\n",
              pairs, pairs, watered, parasail.ours, parasail.best.c_str(), parasail.gcups,
              parasail.ours / parasail.gcups, openblas_get_corename(), blasRatio());
  return 0;
}
