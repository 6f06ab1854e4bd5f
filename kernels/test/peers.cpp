/* Times peer programs on the same core in the same run, and prints JSON. This program and kernels-oracles check their
 * results.
 *
 *   kernels-peers [proteins.fasta]      default: simulated proteins
 *
 * Peers   parasail's own best variant and SSW for the affine scores of BLOSUM62 with gaps of 11 + (k − 1) × 1; OpenBLAS
 *         sgemm and maxima for MaxSim. Our kernels multiply tokens of dimension 32; the peers look scores up
 * Times   processor time of one core, of the fastest of alternating rounds; the ratio is theirs ÷ ours, above 1 if ours
 *         is faster
 */
#include <cblas.h>

#include <cstdio>

#include "test/blosum.h"
#include "test/clock.h"
#include "test/proteins.h"
#include "test/ssw_query.h"

namespace gloaming {
namespace {

constexpr int kRounds = 25;

struct AffineFigures {
  std::string parasailBest;
  double parasail = 0, ssw = 0, ours = 0;
};

/* 300 residues against 200 targets of 350, BLOSUM62, scores only, one core. */
AffineFigures timeAffine(const std::vector<std::string>& proteins) {
  std::string query, all;
  for (const std::string& protein : proteins) (query.size() < 300 ? query : all) += protein;
  query.resize(300);
  std::vector<std::string> targets;
  for (size_t t = 0; t < 200; ++t) targets.push_back(all.substr(t * 350, 350));
  std::vector<std::vector<int8_t>> rows, letters;
  for (const std::string& target : targets) {
    rows.push_back(blosumTarget(target));
    letters.push_back(sswLetters(target));
  }
  const BlosumQuery blosum(*chooseKernels(nullptr), query);
  const double cells = 300.0 * 350 * static_cast<double>(targets.size());

  using Function = parasail_result_t* (*)(const parasail_profile_t*, const char*, int, int, int);
  using Create = parasail_profile_t* (*)(const char*, int, const parasail_matrix_t*);
  struct Variant {
    const char* name;
    Function function;
    Create create;
    parasail_profile_t* profile = nullptr;
    std::vector<double> times = {};
  };
  Variant variants[] = {
      {"striped_sat", parasail_sw_striped_profile_sat, parasail_profile_create_sat},
      {"striped_16", parasail_sw_striped_profile_16, parasail_profile_create_16},
      {"scan_sat", parasail_sw_scan_profile_sat, parasail_profile_create_sat},
      {"scan_16", parasail_sw_scan_profile_16, parasail_profile_create_16},
  };
  for (Variant& variant : variants) variant.profile = variant.create(query.c_str(), 300, &parasail_blosum62);
  const SswQuery sswQuery(query);
  std::vector<double> ours, ssw;
  std::vector<int32_t> ourScores, sswScores;
  for (int round = 0; round < kRounds; ++round) {
    double start = processorSeconds();
    ourScores = blosum.scores(rows);
    ours.push_back(processorSeconds() - start);
    start = processorSeconds();
    sswScores.clear();
    for (const auto& target : letters) sswScores.push_back(sswQuery.score(target));
    ssw.push_back(processorSeconds() - start);
    if (ourScores != sswScores) std::abort();
    for (Variant& variant : variants) {
      start = processorSeconds();
      for (const std::string& target : targets) {
        parasail_result_free(variant.function(variant.profile, target.c_str(), 350, kGapOpen, kGapExtend));
      }
      variant.times.push_back(processorSeconds() - start);
    }
  }
  AffineFigures figures;
  figures.ours = cells / fastest(ours) * 1e-9;
  figures.ssw = cells / fastest(ssw) * 1e-9;
  for (Variant& variant : variants) {
    parasail_profile_free(variant.profile);
    const double speed = cells / fastest(variant.times) * 1e-9;
    if (speed <= figures.parasail) continue;
    figures.parasailBest = variant.name;
    figures.parasail = speed;
  }
  return figures;
}

/* MaxSim of a 300-token query by sgemm with 350 target rows at a time and maxima of the product, both directions. */
MaxSim maxsimByBlas(const std::vector<float>& query, const float* target, uint32_t dimension,
                    std::vector<float>& product) {
  constexpr int kQuery = 300, kTarget = 350;
  const int width = static_cast<int>(dimension);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kTarget, kQuery, width, 1, target, width, query.data(), width, 0,
              product.data(), kQuery);
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
  std::vector<double> theirTimes, ourTimes;
  for (int round = 0; round < kRounds; ++round) {
    const double start = processorSeconds();
    MaxSim theirs{}, ours{};
    for (size_t t = 0; t < kTargets; ++t) {
      theirs = maxsimByBlas(queryFloats, targetFloats.data() + t * 350 * kDimension, kDimension, product);
    }
    const double middle = processorSeconds();
    for (size_t t = 0; t < kTargets; ++t) ours = packed.sums(targets.data() + t * 350 * kDimension, 350);
    theirTimes.push_back(middle - start);
    ourTimes.push_back(processorSeconds() - middle);
    if (theirs.queryToTarget != ours.queryToTarget || theirs.targetToQuery != ours.targetToQuery) std::abort();
  }
  return fastest(theirTimes) / fastest(ourTimes);
}

}  // namespace
}  // namespace gloaming

int main(int argc, char** argv) {
  using namespace gloaming;
  Random random(1);
  const std::vector<std::string> proteins = proteinsOf(argc > 1 ? argv[1] : nullptr, random);
  const AffineFigures affine = timeAffine(proteins);
  std::printf(
      "{\"affine\":{\"blosum_gcups\":%.2f,\"parasail\":\"%s\",\"parasail_gcups\":%.2f,"
      "\"parasail_ratio\":%.2f,\"ssw_gcups\":%.2f},"
      "\"maxsim\":{\"peers\":{\"openblas\":{\"core\":\"%s\",\"ratio\":%.2f}}}}\n",
      affine.ours, affine.parasailBest.c_str(), affine.parasail, affine.ours / affine.parasail, affine.ssw,
      openblas_get_corename(), blasRatio());
  return 0;
}
