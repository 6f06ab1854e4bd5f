/* Times the kernels on this machine, next to its own peak measured in the same run, and prints JSON.
 *
 *   kernels-bench [kernels]        default: the fastest that run here
 *
 * Each figure is the median of rounds that measure the peak and the kernel in turn, so that a change of clock meets
 * both. Before it times anything, the bench checks an answer against the reference. Under 30 seconds. */
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "reference/reference.h"
#include "search.h"
#include "test/clock.h"
#include "test/peak.h"
#include "test/random_tokens.h"

namespace gloaming {
namespace {

constexpr uint32_t kQueryLength = 300, kTargetLength = 350;
constexpr AffineParameters kParameters{600, 1, 11, 1};

struct Elapsed {
  double wall, processor;
};

/* Runs a search on the pool and waits for it; the seconds from submission to the end. */
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

std::shared_ptr<const Store> makeStore(Random& random, uint32_t targets, uint32_t dimension) {
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

double peakPerSecond(const Kernels& kernels) {
  const double start = processorSeconds();
  const double products = runPeakRounds(kernels, 1'000'000);
  return products / (processorSeconds() - start);
}

struct MaxSimFigures {
  double peakShare = 0, gops = 0, twoCoreScaling = 0, twoCoreWork = 0;
};

MaxSimFigures timeMaxSim(Runner& runner, const Kernels& kernels, uint32_t dimension) {
  Random random(dimension);
  const uint32_t targets = kernels.name == referenceKernels.name ? 4 : 400;
  const auto store = makeStore(random, targets, dimension);
  const auto rows = randomRows(random, kQueryLength, dimension);
  const auto search = [&](uint32_t threads, std::vector<MaxSimSearch::Sums>* sums) {
    std::vector<OwnedQuery> queries;
    queries.emplace_back(rows.data(), rows.size(), kQueryLength, dimension);
    const auto job = std::make_shared<MaxSimSearch>(kernels, store, std::move(queries), std::nullopt, runner.done());
    const Elapsed elapsed = runner.run(job, threads);
    if (sums != nullptr) *sums = job->sums;
    return elapsed;
  };
  std::vector<MaxSimSearch::Sums> sums;
  search(2, &sums);
  const Tokens query{rows.data(), kQueryLength, dimension}, target{store->rows(3), kTargetLength, dimension};
  const MaxSim expected = maxsimReference(query, target);
  require(sums[0].queryToTarget[3] == expected.queryToTarget, "maxsim");
  require(sums[0].targetToQuery[3] == expected.targetToQuery, "maxsim");

  const double products = double{kQueryLength} * kTargetLength * dimension * targets;
  std::vector<double> shares, speeds, scalings, works;
  for (int round = 0; round < 15; ++round) {
    const double peak = hasPeakProbe(kernels) ? peakPerSecond(kernels) : 0;
    const Elapsed one = search(1, nullptr), two = search(2, nullptr);
    shares.push_back(peak > 0 ? products / one.processor / peak : 0);
    speeds.push_back(products / one.processor * 2e-9);
    scalings.push_back(one.wall / two.wall);
    works.push_back(2 * one.processor / two.processor);
  }
  return {median(shares), median(speeds), median(scalings), median(works)};
}

struct AffineFigures {
  double gcupsCore = 0, alignGcupsCore = 0, msTwoCores = 0;
};

AffineFigures timeAffine(Runner& runner, const Kernels& kernels) {
  constexpr uint32_t dimension = 64;
  Random random(7);
  const uint32_t targets = kernels.name == referenceKernels.name ? 4 : 1000;
  const auto store = makeStore(random, targets, dimension);
  const auto rows = randomRows(random, kQueryLength, dimension);
  std::vector<uint32_t> list(targets);
  for (uint32_t t = 0; t < targets; ++t) list[t] = t;
  const auto search = [&](bool aligns, uint32_t threads, std::vector<int32_t>* scores) {
    OwnedQuery query(rows.data(), rows.size(), kQueryLength, dimension);
    const auto job = std::make_shared<AffineSearch>(kernels, store, std::move(query), list, kParameters, aligns,
                                                    runner.done());
    const Elapsed elapsed = runner.run(job, threads);
    if (scores != nullptr) *scores = job->scores;
    return elapsed;
  };
  std::vector<int32_t> scores;
  search(false, 2, &scores);
  Workspace workspace;
  const std::atomic<bool> cancelled{false};
  const PackedQuery query{{rows.data(), kQueryLength, dimension}, nullptr};
  const AffineTask task{query, store->rows(3), kTargetLength, kParameters, workspace, cancelled};
  require(scores[3] == referenceAffineScore(task), "affine");

  const double cells = double{kQueryLength} * kTargetLength * targets;
  std::vector<double> score, align, two;
  for (int round = 0; round < 9; ++round) {
    score.push_back(cells / search(false, 1, nullptr).processor * 1e-9);
    align.push_back(cells / search(true, 1, nullptr).processor * 1e-9);
    two.push_back(search(false, 2, nullptr).wall * 1e3 * 1000 / targets);
  }
  return {median(score), median(align), median(two)};
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
  Runner runner;
  const MaxSimFigures d64 = timeMaxSim(runner, *kernels, 64), d128 = timeMaxSim(runner, *kernels, 128);
  const AffineFigures affine = timeAffine(runner, *kernels);
  std::printf("{\"kernels\":\"%s\",\"maxsim\":{\"d64\":{\"peak_share\":%.3f,\"gops\":%.0f},"
              "\"d128\":{\"peak_share\":%.3f,\"gops\":%.0f},"
              "\"two_core_scaling\":%.3f,\"two_core_scaling_processor\":%.3f},"
              "\"affine\":{\"gcups_core\":%.2f,\"align_gcups_core\":%.2f,\"ms_1000x350\":%.2f}}\n",
              kernels->name, d64.peakShare, d64.gops, d128.peakShare, d128.gops, d128.twoCoreScaling, d128.twoCoreWork,
              affine.gcupsCore, affine.alignGcupsCore, affine.msTwoCores);
  return 0;
}
