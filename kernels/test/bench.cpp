/* Times the kernels on this machine, and its peak rate in the same run, and prints JSON.
 *
 *   kernels-bench [kernels [dimension]]        default: the fastest that run here; 64, for affine scores
 *
 * Rounds are short and measure the peak and the kernel in turn. Each figure compares the fastest rounds, because
 * neighbours on a shared machine slow a loop over memory more than the probe's loop over registers. `_median` compares
 * the median rounds. For a table with assembly, `intrinsics` has the rates of its plain twin in the same run. Before
 * any timing, the bench checks a result against the reference. It takes under 30 seconds on two idle cores. */
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "reference/reference.h"
#include "engine/search.h"
#include "test/clock.h"
#include "test/peak.h"
#include "test/plain_tiles.h"
#include "test/random_tokens.h"

namespace gloaming {
namespace {

constexpr uint32_t kQueryLength = 300, kTargetLength = 350;
constexpr AffineParameters kParameters{600, 1, 11, 1}, kProfileParameters{600, 150, 11, 1, nullptr, 1'331};

/** One round in this many also times the plain twin of the assembly. */
constexpr int kTwinRounds = 3;

struct Elapsed {
  double wall, processor;
};

/* Runs a search on the pool, waits for it, and returns the seconds from submission to the end. */
class Runner {
 public:
  Elapsed run(const std::shared_ptr<Search>& search, uint32_t threads) {
    isDone_ = false;
    const double start = seconds(), processorStart = processorSeconds();
    pool_.submit(search, threads);
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait(lock, [this] { return isDone_; });
    return {seconds() - start, processorSeconds() - processorStart};
  }
  Search::Done done() {
    return [this](const std::shared_ptr<Search>&, std::exception_ptr failure) {
      if (failure != nullptr) std::abort();
      const std::lock_guard<std::mutex> lock(mutex_);
      isDone_ = true;
      wake_.notify_one();
    };
  }

 private:
  Pool pool_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool isDone_ = false;
};

std::shared_ptr<Store> makeStore(Random& random, uint32_t targets, uint32_t dimension) {
  std::vector<uint32_t> starts(targets + 1);
  for (uint32_t t = 0; t <= targets; ++t) starts[t] = t * kTargetLength;
  const std::vector<int8_t> rows = randomRows(random, targets * kTargetLength, dimension);
  return std::make_shared<Store>(std::move(starts), dimension, rows.data(), rows.size());
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "kernels-bench: wrong answer: %s\n", what);
  std::exit(1);
}

/* Seconds of `products` multiply-adds at the machine's peak, which runPeak runs. */
double peakSeconds(double (*runPeak)(const Kernels&, uint64_t), const Kernels& kernels, double products) {
  const double start = processorSeconds();
  const double done = runPeak(kernels, 1'000'000);
  return (processorSeconds() - start) / done * products;
}

struct MaxSimFigures {
  double peakShare = 0, peakShareMedian = 0, gops = 0, twoCoreScaling = 0, twoCoreWork = 0, plainGops = 0;
};

MaxSimFigures timeMaxSim(Runner& runner, const Kernels& kernels, uint32_t dimension) {
  Random random(dimension);
  const uint32_t targets = kernels.name == referenceKernels.name ? 4 : 400;
  const auto store = makeStore(random, targets, dimension);
  const auto rows = randomRows(random, kQueryLength, dimension);
  const Kernels* twin = plainTwinOf(kernels);
  const auto search = [&](uint32_t threads, std::vector<MaxSimSearch::Sums>* sums, const Kernels& kernels) {
    std::vector<OwnedQuery> queries;
    queries.emplace_back(rows.data(), rows.size(), kQueryLength, dimension);
    const auto job = std::make_shared<MaxSimSearch>(kernels, store, std::move(queries), std::nullopt, runner.done());
    const Elapsed elapsed = runner.run(job, threads);
    if (sums != nullptr) *sums = job->sums;
    return elapsed;
  };
  std::vector<MaxSimSearch::Sums> sums;
  search(2, &sums, kernels);
  const Tokens query{rows.data(), kQueryLength, dimension}, target{store->rows(3), kTargetLength, dimension};
  const MaxSim expected = maxsimReference(query, target);
  require(sums[0].queryToTarget[3] == expected.queryToTarget, "maxsim");
  require(sums[0].targetToQuery[3] == expected.targetToQuery, "maxsim");

  const double products = double{kQueryLength} * kTargetLength * dimension * targets;
  const bool isSlow = kernels.name == referenceKernels.name;
  std::vector<double> peak, one, oneWall, two, twoWall, plain;
  for (int round = 0; round < (isSlow ? 15 : 60); ++round) {
    if (hasPeakProbe(kernels)) peak.push_back(peakSeconds(runMaxsimPeak, kernels, products));
    const Elapsed alone = search(1, nullptr, kernels), together = search(2, nullptr, kernels);
    if (twin != nullptr && round % kTwinRounds == 0) plain.push_back(search(1, nullptr, *twin).processor);
    one.push_back(alone.processor);
    oneWall.push_back(alone.wall);
    two.push_back(together.processor);
    twoWall.push_back(together.wall);
  }
  MaxSimFigures figures;
  if (!peak.empty()) {
    figures.peakShare = fastest(peak) / fastest(one);
    figures.peakShareMedian = median(peak) / median(one);
  }
  figures.gops = products / fastest(one) * 2e-9;
  if (!plain.empty()) figures.plainGops = products / fastest(plain) * 2e-9;
  figures.twoCoreScaling = fastest(oneWall) / fastest(twoWall);
  figures.twoCoreWork = 2 * fastest(one) / fastest(two);
  return figures;
}

struct AffineFigures {
  double gcupsCore = 0, peakShare = 0, measureGcupsCore = 0, alignGcupsCore = 0, msTwoCores = 0, msTwoCoresMedian = 0;
  double plainGcupsCore = 0, plainMeasureGcupsCore = 0, profileScoreGcupsCore = 0;
};

/* Times affine scores, with profiles if the parameters have a weight for them. */
AffineFigures timeAffine(Runner& runner, const Kernels& kernels, const AffineParameters& parameters,
                         uint32_t dimension) {
  Random random(7);
  const uint32_t targets = kernels.name == referenceKernels.name ? 4 : 1000;
  const auto store = makeStore(random, targets, dimension);
  const auto rows = randomRows(random, kQueryLength, dimension);
  const auto profile = randomProfiles(random, kQueryLength), profiles = randomProfiles(random, store->residueCount());
  store->setProfiles(profiles.data(), profiles.size());
  std::vector<uint32_t> list(targets);
  for (uint32_t t = 0; t < targets; ++t) list[t] = t;
  const Kernels* twin = plainTwinOf(kernels);
  const auto search = [&](AffineWork work, uint32_t threads, std::vector<int32_t>* scores, const Kernels& kernels) {
    OwnedQuery query(rows.data(), rows.size(), kQueryLength, dimension);
    query.setProfile(profile.data(), profile.size());
    const auto job = std::make_shared<AffineSearch>(kernels, store, std::move(query), list, parameters, OwnedLetters{},
                                                    work, runner.done());
    const Elapsed elapsed = runner.run(job, threads);
    if (scores != nullptr) *scores = job->scores;
    return elapsed;
  };
  std::vector<int32_t> scores;
  search(AffineWork::kScores, 2, &scores, kernels);
  Workspace workspace;
  const std::atomic<bool> cancelled{false};
  const PackedQuery query{{rows.data(), kQueryLength, dimension}, nullptr};
  const std::vector<uint8_t> noLetters(kQueryLength + kTargetLength + kLetterPadding);
  const Letters letters{noLetters.data(), noLetters.data()};
  const Profiles both{profile.data(), store->profile(3)};
  const AffineTask task{query, store->rows(3), kTargetLength, letters, both, parameters, workspace, cancelled};
  require(scores[3] == referenceAffineScore(task), "affine");
  search(AffineWork::kProfileScores, 2, &scores, kernels);
  require(scores[3] == referenceProfileScore(task), "profile scores");

  const double cells = double{kQueryLength} * kTargetLength * targets;
  const double products = dimension + (parameters.profileWeight > 0 ? kProfileValues : 0);
  std::vector<double> peak, score, measure, align, two, plainScore, plainMeasure, profileScore;
  for (int round = 0; round < 25; ++round) {
    if (hasPeakProbe(kernels)) peak.push_back(peakSeconds(runAffinePeak, kernels, cells * products));
    score.push_back(search(AffineWork::kScores, 1, nullptr, kernels).processor);
    measure.push_back(search(AffineWork::kMeasures, 1, nullptr, kernels).processor);
    align.push_back(search(AffineWork::kAlignments, 1, nullptr, kernels).processor);
    profileScore.push_back(search(AffineWork::kProfileScores, 1, nullptr, kernels).processor);
    two.push_back(search(AffineWork::kScores, 2, nullptr, kernels).wall * 1e3 * 1000 / targets);
    if (twin == nullptr || round % kTwinRounds != 0) continue;
    plainScore.push_back(search(AffineWork::kScores, 1, nullptr, *twin).processor);
    plainMeasure.push_back(search(AffineWork::kMeasures, 1, nullptr, *twin).processor);
  }
  const double share = peak.empty() ? 0 : fastest(peak) / fastest(score);
  const auto rate = [cells](const std::vector<double>& seconds) {
    return seconds.empty() ? 0 : cells / fastest(seconds) * 1e-9;
  };
  return {rate(score),       share,       rate(measure),    rate(align),
          fastest(two),      median(two), rate(plainScore), rate(plainMeasure),
          rate(profileScore)};
}

}  // namespace
}  // namespace gloaming

int main(int argc, char** argv) {
  using namespace gloaming;
  const Kernels* kernels = chooseKernels(argc > 1 ? argv[1] : nullptr);
  if (kernels == nullptr) {
    std::fprintf(stderr, "kernels-bench: these kernels are unknown or cannot run here\n");
    return 1;
  }
  const auto dimension = static_cast<uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 64);
  if (dimension == 0 || dimension > kMaxDimension || dimension % kDimensionStep != 0) {
    std::fprintf(stderr, "kernels-bench: the dimension must be a multiple of %u up to %u\n", kDimensionStep,
                 kMaxDimension);
    return 1;
  }
  Runner runner;
  const MaxSimFigures d64 = timeMaxSim(runner, *kernels, 64), d128 = timeMaxSim(runner, *kernels, 128);
  const AffineFigures affine = timeAffine(runner, *kernels, kParameters, dimension);
  const AffineFigures profile = timeAffine(runner, *kernels, kProfileParameters, dimension);
  const auto printMaxSim = [](const char* name, const MaxSimFigures& figures) {
    std::printf("\"%s\":{\"peak_share\":%.3f,\"peak_share_median\":%.3f,\"gops\":%.0f},", name, figures.peakShare,
                figures.peakShareMedian, figures.gops);
  };
  std::printf("{\"kernels\":\"%s\",\"maxsim\":{", kernels->name);
  printMaxSim("d64", d64);
  printMaxSim("d128", d128);
  std::printf("\"two_core_scaling\":%.3f,\"two_core_scaling_processor\":%.3f},", d128.twoCoreScaling, d128.twoCoreWork);
  std::printf(
      "\"affine\":{\"gcups_core\":%.2f,\"peak_share\":%.3f,\"measure_gcups_core\":%.2f,"
      "\"align_gcups_core\":%.2f,\"ms_1000x350\":%.2f,\"ms_1000x350_median\":%.2f,",
      affine.gcupsCore, affine.peakShare, affine.measureGcupsCore, affine.alignGcupsCore, affine.msTwoCores,
      affine.msTwoCoresMedian);
  std::printf(
      "\"profile_gcups_core\":%.2f,\"profile_peak_share\":%.3f,\"profile_measure_gcups_core\":%.2f,"
      "\"profile_align_gcups_core\":%.2f,\"profile_score_gcups_core\":%.2f}",
      profile.gcupsCore, profile.peakShare, profile.measureGcupsCore, profile.alignGcupsCore,
      profile.profileScoreGcupsCore);
  if (plainTwinOf(*kernels) != nullptr) {
    std::printf(
        ",\"intrinsics\":{\"d64_gops\":%.0f,\"d128_gops\":%.0f,\"gcups_core\":%.2f,\"measure_gcups_core\":%.2f,"
        "\"profile_gcups_core\":%.2f,\"profile_measure_gcups_core\":%.2f}",
        d64.plainGops, d128.plainGops, affine.plainGcupsCore, affine.plainMeasureGcupsCore, profile.plainGcupsCore,
        profile.plainMeasureGcupsCore);
  }
  std::printf("}\n");
  return 0;
}
