/* Compares the CUDA backend with the reference, bit for bit: searches with and without filters, several queries, panels
 * of long queries, excesses over a floor, the best of many, affine scores. Also tests eviction, refusals, cancellation,
 * several GPUs and a fault.
 *
 *   kernels-cuda-equality [seed]                on this machine's GPUs, each kernel that they run; exit code 77: no GPU
 *   kernels-cuda-equality --portable [seed]     the same without the Hopper kernels
 *   kernels-cuda-equality --emulated [seed]     on emulated GPUs (test/fake_driver.h), without a driver
 */

#include "cuda/host/image.h"
#include "test/cuda_affine_searches.h"
#include "test/cuda_case.h"
#include "test/cuda_machines.h"
#include "test/fake_driver.h"

namespace gloaming {
namespace cuda {
namespace {

constexpr int kNoGpu = 77;

std::vector<uint32_t> everyThird(Random& random, uint32_t count) {
  std::vector<uint32_t> some;
  for (uint32_t t = 0; t < count; ++t) {
    if (below(random, 3) == 0) some.push_back(t);
  }
  return some;
}

void checkSearches(Pool& pool, Fleet& fleet, Random& random, const Setting& setting) {
  for (uint32_t dimension = kDimensionStep; dimension <= kMaxDimension; dimension += kDimensionStep) {
    const bool isSmall = setting.isEmulated;
    const auto store = makeStore(random, dimension, isSmall ? 50 : 400, isSmall ? 200 : 2'000);
    // The last query exceeds shared memory, so it is cut into panels.
    const uint32_t giant = isSmall ? (dimension == 256 ? 600 : 90) : 5'000;
    const auto queries = makeQueries(random, dimension, {3, 64, 65, 150, 1, giant, 17, 20});
    checkSums(runSearch(pool, fleet, store, queries, std::nullopt), *store, queries, std::nullopt);
    const std::vector<uint32_t> last{store->targetCount() - 1}, none;
    for (const auto& some : {everyThird(random, store->targetCount()), last, none}) {
      checkSums(runSearch(pool, fleet, store, queries, some), *store, queries, some);
      const int32_t floor = randomFloor(random);
      checkSums(runSearch(pool, fleet, store, queries, some, {}, {}, floor), *store, queries, some, floor);
    }
    const int32_t floor = randomFloor(random);
    checkSums(runSearch(pool, fleet, store, queries, std::nullopt, {}, {}, floor), *store, queries, std::nullopt,
              floor);
  }
  require(
      !runSearch(pool, fleet, makeStore(random, 32, 3, 20), makeQueries(random, 32, {5}), std::vector<uint32_t>{0, 3})
           .failure.empty(),
      "a list that names no target did not fail");
}

/* The reference's best targets, and all ties with the last, by target. */
Best expectedBest(const Store& store, const Tokens& query, const std::optional<std::vector<uint32_t>>& eligible,
                  uint32_t wanted) {
  const Oracle oracle(query);
  Best all;
  const uint32_t items = eligible ? static_cast<uint32_t>(eligible->size()) : store.targetCount();
  for (uint32_t item = 0; item < items; ++item) {
    const uint32_t target = eligible ? (*eligible)[item] : item;
    const MaxSim sums = oracle.with(store, target);
    all.push_back({target, sums.queryToTarget, sums.targetToQuery});
  }
  Best best = keepBest(
      all, [&store](uint32_t target) { return store.length(target); }, query.length, wanted);
  std::sort(best.begin(), best.end(), [](const Found& a, const Found& b) { return a.item < b.item; });
  return best;
}

/* Compares the devices' choice of the best with that of the reference, with many ties, in one part of the release and
 * across parts. */
void checkBest(Pool& pool, Fleet& fleet, Random& random, const Setting& setting) {
  constexpr uint32_t dimension = 64;
  auto starts = std::vector<uint32_t>{0};
  const uint32_t count = setting.isEmulated ? 120 : 5'000;
  for (uint32_t t = 0; t < count; ++t) starts.push_back(starts.back() + 1 + t % 3 * 20);
  auto rows = randomRows(random, starts.back(), dimension);
  // Many equal targets tie, in every part.
  for (uint32_t t = 3; t < count; t += 6) {
    std::copy_n(rows.begin() + size_t{starts[3]} * dimension, dimension, rows.begin() + size_t{starts[t]} * dimension);
  }
  const auto store = std::make_shared<Store>(starts, dimension, rows.data(), rows.size());
  const auto queries = makeQueries(random, dimension, {30, 100});
  const std::optional<std::vector<uint32_t>> lists[] = {std::nullopt, everyThird(random, count),
                                                        std::vector<uint32_t>{0}, std::vector<uint32_t>{}};
  for (const auto& eligible : lists) {
    const uint32_t items = eligible ? static_cast<uint32_t>(eligible->size()) : count;
    for (const uint32_t wanted : {1u, 5u, items / 2 + 1, items + 7}) {
      const Outcome outcome = runSearch(pool, fleet, store, queries, eligible, {}, wanted);
      require(outcome.failure.empty(), "a search for the best failed");
      for (size_t q = 0; q < queries.size(); ++q) {
        const Best expected = expectedBest(*store, tokensOf(queries[q], dimension), eligible, wanted);
        const auto& queryToTarget = outcome.search->sums[q].queryToTarget;
        const auto& targetToQuery = outcome.search->sums[q].targetToQuery;
        require(outcome.search->targets[q].size() == expected.size() && queryToTarget.size() == expected.size(),
                "the devices choose another number of targets");
        for (size_t k = 0; k < expected.size(); ++k) {
          require(outcome.search->targets[q][k] == expected[k].item && queryToTarget[k] == expected[k].queryToTarget &&
                      targetToQuery[k] == expected[k].targetToQuery,
                  "the best on the devices are not the best");
        }
      }
    }
  }
}

void checkCancellation(Pool& pool, Fleet& fleet, Random& random) {
  const auto store = makeStore(random, 64, 40, 100);
  const auto queries = makeQueries(random, 64, {50});
  const auto cancel = [](FleetSearch& search) { search.cancel(); };
  const Outcome outcome = runSearch(pool, fleet, store, queries, std::nullopt, cancel);
  require(outcome.failure.empty(), "a cancelled search failed");
  checkSums(runSearch(pool, fleet, store, queries, std::nullopt), *store, queries, std::nullopt);
}

/* Tests a fleet with memory for about one of these releases: they evict each other, and a too large one is refused. */
void checkEviction(Pool& pool, Random& random, const Setting& setting, uint64_t freeBytes, bool isPortable) {
  // A real GPU allocates in units of 2 MiB, so releases have some 70 MiB there, and half a MiB on emulated GPUs.
  const uint32_t count = setting.isEmulated ? 600 : 60'000;
  const auto one = makeStore(random, 32, count, 250), other = makeStore(random, 32, count, 250);
  const auto queries = makeQueries(random, 32, {20});
  const uint64_t bytes = uint64_t{one->residueCount()} * 32;
  Fleet fleet(setting.driver, setting.image, {freeBytes - bytes * 3 / 2, isPortable});
  const size_t states = fleet.state().size();
  for (const auto& store : {one, other, one}) {
    checkSums(runSearch(pool, fleet, store, queries, std::nullopt), *store, queries, std::nullopt);
    for (const Fleet::State& state : fleet.state()) {
      require(states == 1 ? state.residentCount == 1 : state.residentCount >= 1, "two releases share room for one");
      require(state.residentBytes >= bytes / states / 2, "a resident release takes no room");
    }
  }
  const std::atomic<bool> cancelled{false};
  // A release that fits nowhere evicts nothing.
  const auto giant = makeZeros(32, static_cast<uint32_t>(uint64_t{one->residueCount()} * 2 * states / kMaxLength + 1));
  const uint32_t before = fleet.state().front().residentCount;
  try {
    fleet.hold(giant, cancelled);
    require(false, "a release that is too large was loaded");
  } catch (const DeviceMemoryError&) {
    require(fleet.state().front().residentCount == before, "a refused release evicted another one");
  }
  try {
    Fleet(setting.driver, setting.image, {freeBytes, isPortable}).hold(other, cancelled);
    require(false, "a release without room was loaded");
  } catch (const DeviceMemoryError& error) {
    const std::string reason = error.what();
    require(reason.find("are missing") != std::string::npos, "a refusal does not name the missing bytes");
  }
  checkSums(runSearch(pool, fleet, one, queries, std::nullopt), *one, queries, std::nullopt);
}

void checkFleet(Pool& pool, Random& random, const Setting& setting, bool isPortable) {
  Fleet fleet(setting.driver, setting.image, {setting.isEmulated ? 1u << 20 : 512u << 20, isPortable});
  const auto states = fleet.state();
  for (const Fleet::State& state : states) {
    std::printf("kernels-cuda-equality: %s, %llu MiB free, %s kernel\n", state.facts.name.c_str(),
                static_cast<unsigned long long>(state.freeBytes >> 20),
                state.facts.variant == Variant::kHopper ? "Hopper" : "portable");
  }
  checkSearches(pool, fleet, random, setting);
  checkBest(pool, fleet, random, setting);
  checkAffineSearches(pool, fleet, random, setting);
  checkCancellation(pool, fleet, random);
  uint64_t freeBytes = ~uint64_t{0};
  for (const auto& state : fleet.state()) freeBytes = std::min(freeBytes, state.freeBytes);
  checkEviction(pool, random, setting, freeBytes, isPortable);
}

int checkEmulated(uint64_t seed) {
  Random random(seed);
  Pool pool;
  const Setting setting{fakeDriver(), fakeImage(), true};
  for (const auto& gpus : {std::vector<FakeGpu>{{9}}, {{8}}, {{9}, {9}, {8}}}) {
    fakeMachine().gpus = gpus;
    checkFleet(pool, random, setting, false);
  }
  checkMachines(pool, random, setting);
  checkAffineMachines(pool, random, setting);
  for (const FakeGpu& gpu : fakeMachine().gpus) require(gpu.usedBytes == 0, "memory of a GPU was not freed");
  std::printf("kernels-cuda-equality: all agrees on emulated GPUs\n");
  return 0;
}

int checkReal(uint64_t seed, bool isPortable) {
  std::string obstacle;
  const Driver* driver = systemDriver(obstacle);
  if (driver == nullptr) {
    std::printf("kernels-cuda-equality: no GPU: %s\n", obstacle.c_str());
    return kNoGpu;
  }
  Random random(seed);
  Pool pool;
  const Setting setting{*driver, cudaImage(), false};
  bool hasHopper = false;
  try {
    for (const auto& state : Fleet(*driver, cudaImage()).state()) hasHopper |= state.facts.variant == Variant::kHopper;
  } catch (const CudaError& error) {
    std::printf("kernels-cuda-equality: no GPU: %s\n", error.what());
    return kNoGpu;
  }
  if (hasHopper && !isPortable) checkFleet(pool, random, setting, false);
  checkFleet(pool, random, setting, true);
  std::printf("kernels-cuda-equality: all agrees\n");
  return 0;
}

}  // namespace
}  // namespace cuda
}  // namespace gloaming

int main(int argc, char** argv) {
  const auto has = [&](const char* option) { return argc > 1 && std::strcmp(argv[1], option) == 0; };
  const bool isEmulated = has("--emulated"), isPortable = has("--portable");
  const char* given = argc > (isEmulated || isPortable ? 2 : 1) ? argv[argc - 1] : nullptr;
  const uint64_t seed = gloaming::seedOf("kernels-cuda-equality", given);
  return isEmulated ? gloaming::cuda::checkEmulated(seed) : gloaming::cuda::checkReal(seed, isPortable);
}
