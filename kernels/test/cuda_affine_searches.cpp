#include "test/cuda_affine_searches.h"

#include <future>

#include "cuda/affine.h"
#include "cuda/host/fleet_affine.h"
#include "test/fake_driver.h"

namespace gloaming {
namespace cuda {
namespace {

constexpr AffineParameters kTypical{600, 2, 20, 3};
constexpr AffineParameters kParameters[] = {kTypical, {32'767, -16'256, 4'095, 4'095}, {3'000, 40, 11, 1}};

/** Arguments of an affine search, independent of CPU or GPU. */
struct Asked {
  std::shared_ptr<const Store> store;
  std::vector<int8_t> query;
  std::vector<uint32_t> targets;
  AffineParameters parameters;
  OwnedLetters letters;
  AffineWork work;

  Asked(Random& random, std::shared_ptr<const Store> given, uint32_t queryLength, std::vector<uint32_t> listed,
        const AffineParameters& parameters, bool hasLetters, AffineWork work)
      : store(std::move(given)), query(randomRows(random, queryLength, store->dimension())), targets(std::move(listed)),
        parameters(parameters), work(work) {
    // A homolog of a target, so that some scores are high.
    if (!targets.empty()) {
      const Tokens rows{store->rows(targets[0]), store->length(targets[0]), store->dimension()};
      const std::vector<int8_t> own(rows.values, rows.values + size_t{rows.length} * rows.dimension);
      const auto homolog = homologRows(random, own, rows.dimension);
      std::copy_n(homolog.begin(), std::min(homolog.size(), query.size()), query.begin());
    }
    if (!hasLetters) return;
    letters.scores.resize(kLetterCount * kLetterCount);
    for (int8_t& score : letters.scores) score = static_cast<int8_t>(static_cast<int>(below(random, 255)) - 127);
    size_t rows = 0;
    for (const uint32_t target : targets) rows += store->length(target);
    letters.query.resize(queryLength);
    letters.targets.resize(rows);
    // Characters; only the low five bits of each are its letter.
    for (auto* text : {&letters.query, &letters.targets}) {
      for (uint8_t& character : *text) character = static_cast<uint8_t>(below(random, 256));
    }
  }
};

struct AffineOutcome {
  std::shared_ptr<AffineSearch> search;
  std::string failure;
};

/* Runs a search on the CPU, or on a fleet, and waits for it. */
AffineOutcome runAffine(Pool& pool, Fleet* fleet, const Asked& asked,
                        const std::function<void(Search&)>& onStart = {}) {
  std::promise<std::string> ended;
  const auto done = [&ended](const std::shared_ptr<Search>&, std::exception_ptr failure) {
    try {
      if (failure != nullptr) std::rethrow_exception(failure);
      ended.set_value("");
    } catch (const std::exception& error) {
      ended.set_value(error.what());
    }
  };
  const uint32_t dimension = asked.store->dimension();
  OwnedQuery query(asked.query.data(), asked.query.size(), static_cast<uint32_t>(asked.query.size() / dimension),
                   dimension);
  const Kernels& kernels = *chooseKernels(nullptr);
  AffineOutcome outcome;
  if (fleet == nullptr) {
    outcome.search = std::make_shared<AffineSearch>(kernels, asked.store, std::move(query), asked.targets,
                                                    asked.parameters, asked.letters, asked.work, done);
  } else {
    outcome.search = std::make_shared<FleetAffineSearch>(*fleet, kernels, asked.store, std::move(query), asked.targets,
                                                         asked.parameters, asked.letters, asked.work, done);
  }
  if (onStart) onStart(*outcome.search);
  pool.submit(outcome.search, 3);
  outcome.failure = ended.get_future().get();
  return outcome;
}

void checkOne(Pool& pool, Fleet& fleet, const Asked& asked) {
  const AffineOutcome expected = runAffine(pool, nullptr, asked), found = runAffine(pool, &fleet, asked);
  if (!found.failure.empty()) require(false, found.failure.c_str());
  require(found.search->scores.size() == asked.targets.size(), "an affine search has no answer");
  require(found.search->scores == expected.search->scores, "affine scores differ from the CPU's");
  require(found.search->sums.queryToTarget == expected.search->sums.queryToTarget &&
              found.search->sums.targetToQuery == expected.search->sums.targetToQuery,
          "measures differ from the CPU's");
}

/* Returns targets in random order, some of them more than once. */
std::vector<uint32_t> someTargets(Random& random, const Store& store, uint32_t count) {
  std::vector<uint32_t> targets(count);
  for (uint32_t& target : targets) target = below(random, store.targetCount());
  return targets;
}

}  // namespace

void checkAffineSearches(Pool& pool, Fleet& fleet, Random& random, const Setting& setting) {
  for (uint32_t dimension = kDimensionStep; dimension <= kMaxDimension; dimension += kDimensionStep) {
    const auto store = makeStore(random, dimension, setting.isEmulated ? 50 : 2'000, setting.isEmulated ? 200 : 2'000);
    for (const AffineParameters& parameters : kParameters) {
      const uint32_t length = 1 + below(random, setting.isEmulated ? 200 : 1'000);
      const auto targets = someTargets(random, *store, setting.isEmulated ? 20 : 1'000);
      for (const bool hasLetters : {false, true}) {
        checkOne(pool, fleet, {random, store, length, targets, parameters, hasLetters, AffineWork::kMeasures});
      }
    }
    checkOne(pool, fleet, {random, store, 70, {store->targetCount() - 1}, kTypical, true, AffineWork::kScores});
    checkOne(pool, fleet, {random, store, 70, {}, kTypical, true, AffineWork::kMeasures});
  }
  const auto store = makeStore(random, 32, 3, 20);
  for (const auto& [targets, work] : {std::pair{std::vector<uint32_t>{3}, AffineWork::kScores},
                                      std::pair{std::vector<uint32_t>{1}, AffineWork::kAlignments}}) {
    Asked asked(random, store, 5, {}, kTypical, false, work);
    asked.targets = targets;
    require(!runAffine(pool, &fleet, asked).failure.empty(), "a GPU accepts work that it does not support");
  }
}

void checkAffineMachines(Pool& pool, Random& random, const Setting& setting) {
  fakeMachine().gpus = {FakeGpu{}};
  Fleet fleet(setting.driver, setting.image, {1 << 20, false});
  // Three of four strips fill a launch.
  const std::vector<int8_t> rows = randomRows(random, 9'000, 256);
  const auto store = std::make_shared<Store>(std::vector<uint32_t>{0, 9'000}, 256, rows.data(), rows.size());
  const Asked asked(random, store, 3 * stripRows(256) + 5, {0}, kTypical, false, AffineWork::kScores);
  for (const bool cancels : {false, true}) {
    int launches = 0;
    const auto watch = [&](Search& search) {
      fakeMachine().onLaunch = [&](const char*) {
        ++launches;
        if (cancels) search.cancel();
      };
    };
    require(runAffine(pool, &fleet, asked, watch).failure.empty(), "a search that was cancelled, or was not, failed");
    fakeMachine().onLaunch = nullptr;
    require(launches == (cancels ? 1 : 2), "a cancelled affine search goes on, or another one does not");
  }
  checkOne(pool, fleet, asked);
  fakeMachine().onLaunch = [](const char*) { fakeMachine().nextWait = 700; };
  const AffineOutcome outcome = runAffine(pool, &fleet, asked);
  require(outcome.failure.find("illegal memory access") != std::string::npos, "a fault is not reported");
  fakeMachine().onLaunch = nullptr;
  fakeMachine().nextWait = 0;
  checkOne(pool, fleet, asked);
}

}  // namespace cuda
}  // namespace gloaming
