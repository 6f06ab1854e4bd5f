#include "test/cuda_machines.h"

#include <chrono>
#include <thread>

#include "test/fake_driver.h"

namespace gloaming {
namespace cuda {
namespace {

void checkObstacles(const Setting& setting) {
  const auto reasonOf = [&](const void* image) -> std::string {
    try {
      Fleet fleet(setting.driver, image);
      return "";
    } catch (const CudaError& error) {
      return error.what();
    }
  };
  fakeMachine().gpus = {};
  require(reasonOf(setting.image) == "the NVIDIA driver finds no GPU", "a machine without GPUs has one");
  fakeMachine().gpus = {FakeGpu{7}, FakeGpu{6}};
  require(reasonOf(setting.image) ==
              "GPU 0: Emulated 7 has compute capability 7.0, 8.0 is needed; "
              "GPU 1: Emulated 6 has compute capability 6.0, 8.0 is needed",
          "old GPUs are taken, or not all of them are named");
  require(reasonOf(nullptr).find("nvcc was not found") != std::string::npos, "kernels that are not there run");
}

/* If some GPUs are usable, the fleet names the others with the reasons. */
void checkUnusedGpus(Pool& pool, Random& random, const Setting& setting) {
  fakeMachine().gpus = {FakeGpu{7}, FakeGpu{9}};
  Fleet fleet(setting.driver, setting.image, {1 << 20, false});
  require(fleet.state().size() == 1 && fleet.state().front().ordinal == 1, "a GPU does not keep its number");
  require(fleet.unusedGpus() == std::vector<std::string>{"GPU 0: Emulated 7 has compute capability 7.0, 8.0 is needed"},
          "an unusable GPU is not named");
  const auto store = makeStore(random, 32, 60, 80);
  const auto queries = makeQueries(random, 32, {20});
  checkSums(runSearch(pool, fleet, store, queries, std::nullopt), *store, queries, std::nullopt);
}

/* A search that is cancelled in its first launch starts no second launch. */
void checkCancellationBetweenLaunches(Pool& pool, Random& random, const Setting& setting) {
  fakeMachine().gpus = {FakeGpu{}};
  Fleet fleet(setting.driver, setting.image, {1 << 20, false});
  const auto store = makeStore(random, 256, 20, 40);
  // Two panels, hence two launches.
  const auto queries = makeQueries(random, 256, {600});
  for (const bool cancels : {false, true}) {
    int launches = 0;
    runSearch(pool, fleet, store, queries, std::nullopt, [&](FleetSearch& search) {
      fakeMachine().onLaunch = [&](const char*) {
        ++launches;
        if (cancels) search.cancel();
      };
    });
    fakeMachine().onLaunch = nullptr;
    require(launches == (cancels ? 1 : 2), "a cancelled search goes on, or another one does not");
  }
}

/* A search of many queries lets another search run between two of them. */
void checkTurnsBetweenQueries(Pool& pool, Random& random, const Setting& setting) {
  fakeMachine().gpus = {FakeGpu{}};
  Fleet fleet(setting.driver, setting.image, {1 << 20, false});
  const auto store = makeStore(random, 32, 30, 40);
  const auto some = std::vector<uint32_t>{1, 4, 9, 16};
  const auto many = makeQueries(random, 32, std::vector<uint32_t>(12, 5));
  const auto few = makeQueries(random, 32, {7});
  checkSums(runSearch(pool, fleet, store, few, std::nullopt), *store, few, std::nullopt);
  std::thread other;
  // The watch runs with the GPU's mutex held, one launch at a time.
  std::vector<std::thread::id> launches;
  fakeMachine().onLaunch = [&](const char*) {
    launches.push_back(std::this_thread::get_id());
    if (launches.size() == 1) {
      other = std::thread([&] { checkSums(runSearch(pool, fleet, store, few, some), *store, few, some); });
    }
    // Gives the other search time to reach the mutex.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  checkSums(runSearch(pool, fleet, store, many, some), *store, many, some);
  other.join();
  fakeMachine().onLaunch = nullptr;
  require(launches.front() == launches.back(), "a search holds a GPU until its last query");
}

/* If equal parts do not fit, GPUs of different memory get parts of different size, in any order of the GPUs, and also
 * if another release must be evicted. */
void checkUnequalGpus(Pool& pool, Random& random, const Setting& setting) {
  const auto store = makeStore(random, 32, 1'200, 250), other = makeStore(random, 32, 300, 250);
  const auto queries = makeQueries(random, 32, {20});
  const size_t bytes = packedBytes(*store), work = size_t{1} << 20;
  // A tenth more, because cuts between proteins leave gaps.
  const size_t large = work + bytes * 8 / 10, small = work + bytes * 3 / 10;
  for (const auto& memory : {std::vector<size_t>{small, large}, {large, small}, {work / 2, small, large}}) {
    fakeMachine().gpus.clear();
    for (const size_t each : memory) fakeMachine().gpus.push_back({9, each});
    Fleet fleet(setting.driver, setting.image, {work, false});
    for (const auto& each : {store, other, store}) {
      checkSums(runSearch(pool, fleet, each, queries, std::nullopt), *each, queries, std::nullopt);
    }
    const std::atomic<bool> cancelled{false};
    const auto release = fleet.hold(store, cancelled);
    for (const ReleasePart& part : release->parts) {
      const FakeGpu& gpu = fakeMachine().gpus[static_cast<size_t>(part.gpu->ordinal())];
      require(part.bytes + work <= gpu.memoryBytes, "a part takes memory reserved for searches");
      require(part.endTarget > part.firstTarget, "a GPU without room has a part");
    }
    require(release->parts.size() == 2, "a release is not where there is memory for it");
  }
}

/* A release that does not fit beside one in use is "busy", not "too large", and is loaded when the other is
 * released. */
void checkBusyMemory(Random& random, const Setting& setting) {
  const auto one = makeStore(random, 32, 600, 250), other = makeStore(random, 32, 600, 250);
  const auto giant = makeStore(random, 32, 2'400, 250);
  const size_t work = size_t{1} << 20;
  fakeMachine().gpus = {{9, work + packedBytes(*one) * 3 / 2}};
  Fleet fleet(setting.driver, setting.image, {work, false});
  const std::atomic<bool> cancelled{false};
  const auto isBusyFor = [&](const std::shared_ptr<const Store>& store) {
    try {
      fleet.hold(store, cancelled);
      require(false, "two releases share room for one");
    } catch (const DeviceBusyError&) {
      return true;
    } catch (const DeviceMemoryError&) {
    }
    return false;
  };
  auto held = fleet.hold(one, cancelled);
  require(isBusyFor(other), "memory in use is reported as missing");
  require(!isBusyFor(giant), "missing memory is reported as in use");
  require(fleet.hold(one, cancelled) == held, "a release in use was evicted");
  held.reset();
  require(fleet.hold(other, cancelled) != nullptr, "memory stays in use");
}

/* Only searches with a floor allocate excesses on a GPU. */
void checkMemoryOfExcesses(Pool& pool, Random& random, const Setting& setting) {
  // Scratch memory comes in powers of two, from 64 KiB on: these sums are one of them.
  const auto store = makeStore(random, 32, 16'384, 9);
  const auto queries = makeQueries(random, 32, {5});
  size_t used[2] = {};
  for (const bool isAsked : {false, true}) {
    fakeMachine().gpus = {FakeGpu{8}};
    Fleet fleet(setting.driver, setting.image, {1 << 20, false});
    fakeMachine().onLaunch = [&](const char*) { used[isAsked] = fakeMachine().gpus.front().usedBytes; };
    const auto floor = isAsked ? std::optional<int32_t>{300} : std::nullopt;
    checkSums(runSearch(pool, fleet, store, queries, std::nullopt, {}, {}, floor), *store, queries, std::nullopt,
              floor);
    fakeMachine().onLaunch = nullptr;
  }
  require(used[true] - used[false] == queries.size() * store->targetCount() * sizeof(int32_t),
          "excesses take other memory than their own");
}

/* A kernel's fault fails its search, and the next search runs on a reopened GPU. */
void checkFault(Pool& pool, Random& random, const Setting& setting) {
  fakeMachine().gpus = {FakeGpu{}, FakeGpu{8}};
  Fleet fleet(setting.driver, setting.image, {1 << 20, false});
  require(fleet.state().size() == 2, "a GPU is not used");
  const auto store = makeStore(random, 32, 60, 80);
  const auto queries = makeQueries(random, 32, {20});
  checkSums(runSearch(pool, fleet, store, queries, std::nullopt), *store, queries, std::nullopt);
  fakeMachine().onLaunch = [](const char*) { fakeMachine().nextWait = 700; };
  const Outcome outcome = runSearch(pool, fleet, store, queries, std::nullopt);
  require(outcome.failure.find("illegal memory access") != std::string::npos, "a fault is not reported");
  fakeMachine().onLaunch = nullptr;
  fakeMachine().nextWait = 0;
  checkSums(runSearch(pool, fleet, store, queries, std::nullopt), *store, queries, std::nullopt);
}

}  // namespace

void checkMachines(Pool& pool, Random& random, const Setting& setting) {
  checkObstacles(setting);
  checkUnusedGpus(pool, random, setting);
  checkCancellationBetweenLaunches(pool, random, setting);
  checkTurnsBetweenQueries(pool, random, setting);
  checkUnequalGpus(pool, random, setting);
  checkBusyMemory(random, setting);
  checkMemoryOfExcesses(pool, random, setting);
  checkFault(pool, random, setting);
}

}  // namespace cuda
}  // namespace gloaming
