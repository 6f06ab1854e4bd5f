/* Times the CUDA kernels on this machine's first GPU and prints JSON. The main figure is a query of 300 residues
 * against random tokens, both directions, exact, with the best 1,000 chosen on the GPU, by the clock from call to
 * result. Others are the same search with all sums copied, with a filter of every tenth target, and with 16 queries at
 * once. It also measures the time from cancellation to the end of a search, and affine scores of a thousand targets.
 * The same run measures the rates of single instructions (cuda_rates.h) and, if installed, the int8 rate of cuBLASLt.
 * Each figure is a median. The bench checks a result first.
 *
 *   kernels-cuda-bench [GiB of tokens, default 4]        exit code 77: no GPU
 *   kernels-cuda-bench --emulated                        the same code on emulated lanes, a test without timings
 */
#include <cstring>
#include <thread>

#include "cuda/host/image.h"
#include "cuda/host/sweep_search.h"
#include "test/cublaslt.h"
#include "test/cuda_affine_bench.h"
#include "test/cuda_rates.h"
#include "test/fake_driver.h"
#include "test/oracle.h"
#include "test/random_tokens.h"

namespace gloaming {
namespace cuda {
namespace {

constexpr int kNoGpu = 77;
constexpr uint32_t kQueryLength = 300;
/** Residues of Swiss-Prot, the size of the project's performance targets. */
constexpr double kSwissProtResidues = 205e6;

struct Setting {
  const Driver& driver;
  const void* image;
  uint64_t tokenBytes, workBytes;
  uint32_t wanted;
  /** Searches per median. */
  int rounds;
};
constexpr int kWarmups = 2;
/** Queries of the searches of several. */
constexpr uint32_t kQueryCount = 16;

/* Values of −15 … 15: the squared norm of 128 of them is at most 28,800. */
std::vector<int8_t> randomValues(uint64_t seed, size_t count) {
  std::vector<int8_t> values(count);
  Random random(seed);
  for (size_t k = 0; k < count; k += 8) {
    uint64_t bits = random();
    for (size_t i = k; i < std::min(count, k + 8); ++i, bits >>= 8) {
      values[i] = static_cast<int8_t>(static_cast<int>((bits & 255) * 31 >> 8) - 15);
    }
  }
  return values;
}

/* Lengths of 30 to 700, 365 on average. */
std::shared_ptr<const Store> makeStore(uint32_t dimension, uint64_t bytes) {
  Random random(dimension);
  std::vector<uint32_t> starts{0};
  while (uint64_t{starts.back()} * dimension < bytes) starts.push_back(starts.back() + 30 + below(random, 671));
  const auto values = randomValues(dimension, size_t{starts.back()} * dimension);
  return std::make_shared<Store>(std::move(starts), dimension, values.data(), values.size());
}

bool isRight(SweepSearch& search, const Store& store, const Tokens& query) {
  std::vector<int32_t> sums[2] = {std::vector<int32_t>(search.itemCount()), std::vector<int32_t>(search.itemCount())};
  search.sums({sums[0].data()}, {sums[1].data()});
  const Oracle oracle(query);
  for (uint32_t target = 0; target < search.itemCount(); target += search.itemCount() / 500 + 1) {
    const MaxSim expected = oracle.with(store, target);
    if (sums[0][target] != expected.queryToTarget || sums[1][target] != expected.targetToQuery) return false;
  }
  return true;
}

/* Times a search, after some warm-up searches. */
template <class Search>
std::vector<double> timesOf(int rounds, Search search) {
  std::vector<double> times;
  for (int round = -kWarmups; round < rounds; ++round) {
    const double from = seconds();
    search();
    if (round >= 0) times.push_back(seconds() - from);
  }
  return times;
}

/* A part of a release that all rounds search. */
struct Bench {
  const ReleasePart& part;
  const std::shared_ptr<const Store>& store;
  std::vector<Tokens> queries;
  std::atomic<bool> cancelled{false};

  SweepSearch search(size_t queryCount, std::optional<std::vector<uint32_t>> eligible = std::nullopt) {
    return SweepSearch(part, *store, {queries.begin(), queries.begin() + static_cast<ptrdiff_t>(queryCount)},
                       std::move(eligible), cancelled);
  }
};

/* Returns the longest time from the cancellation of a search of many queries to its return, of a few tries. */
double cancelSeconds(Bench& bench, const Setting& setting) {
  double longest = 0;
  for (int repeat = 0; repeat < setting.rounds / 4 + 1; ++repeat) {
    SweepSearch search = bench.search(bench.queries.size());
    std::vector<Best> nothing;
    std::thread searching([&] { nothing = search.best(setting.wanted); });
    std::this_thread::sleep_for(std::chrono::milliseconds(7 + repeat));
    const double from = seconds();
    bench.cancelled = true;
    searching.join();
    longest = std::max(longest, seconds() - from);
    bench.cancelled = false;
  }
  return longest;
}

/* Prints one member of the JSON. Returns false if a result is wrong. */
bool measure(const Setting& setting, bool isPortable, const std::shared_ptr<const Store>& store, double peerRate) {
  Fleet fleet(setting.driver, setting.image, {setting.workBytes, isPortable});
  const std::atomic<bool> cancelled{false};
  const double start = seconds();
  const auto release = fleet.hold(store, cancelled);
  const double loadSeconds = seconds() - start;
  const ReleasePart& part = release->parts.front();
  const uint32_t dimension = store->dimension(), targets = part.endTarget - part.firstTarget;
  const size_t queryBytes = size_t{kQueryLength} * dimension;
  const auto rows = randomValues(1, queryBytes * kQueryCount);
  Bench bench{part, store, {}};
  for (uint32_t q = 0; q < kQueryCount; ++q) {
    bench.queries.push_back({rows.data() + q * queryBytes, kQueryLength, dimension});
  }
  SweepSearch search = bench.search(1);
  if (!isRight(search, *store, bench.queries[0])) return false;

  const uint32_t wanted = setting.wanted;
  const int few = setting.rounds / 4 + 1;
  const double sweepsBefore = search.sweepSeconds();
  const std::vector<double> times = timesOf(setting.rounds, [&] { search.best(wanted); });
  const double sweep = (search.sweepSeconds() - sweepsBefore) / (setting.rounds + kWarmups);
  std::vector<int32_t> sums[2] = {std::vector<int32_t>(targets), std::vector<int32_t>(targets)};
  const double allSums = median(timesOf(few, [&] { search.sums({sums[0].data()}, {sums[1].data()}); }));
  std::vector<uint32_t> tenth;
  for (uint32_t target = 0; target < targets; target += 10) tenth.push_back(target);
  SweepSearch filtered = bench.search(1, tenth), batch = bench.search(kQueryCount);
  const double some = median(timesOf(setting.rounds, [&] { filtered.best(wanted); }));
  const double many = median(timesOf(few, [&] { batch.best(wanted); })) / kQueryCount;
  const double afterCancel = cancelSeconds(bench, setting);
  AffineBench affine(part, *store, bench.queries[0]);
  affine.run();
  if (!affine.isRight()) return false;
  const double affineBefore = affine.sweepSeconds();
  const double affineTime = median(timesOf(setting.rounds, [&] { affine.run(); }));
  const double affineSweep = (affine.sweepSeconds() - affineBefore) / (setting.rounds + kWarmups);

  double residues = 0;
  for (uint32_t t = part.firstTarget; t < part.endTarget; ++t) residues += store->length(t);
  const double time = median(times), rate = 2 * residues * kQueryLength * dimension / time;
  std::printf(
      "{\"kernel\":\"%s\",\"dimension\":%u,\"residues\":%.0f,\"load_s\":%.2f,\"ms\":%.3f,"
      "\"ms_least\":%.3f,\"ms_most\":%.3f,\"ms_205M\":%.2f,\"tops\":%.1f,\"cublaslt_share\":%.3f,",
      part.gpu->facts().variant == Variant::kHopper ? "hopper" : "portable", dimension, residues, loadSeconds,
      time * 1e3, fastest(times) * 1e3, *std::max_element(times.begin(), times.end()) * 1e3,
      time * 1e3 * kSwissProtResidues / residues, rate * 1e-12, peerRate > 0 ? rate / peerRate : 0);
  std::printf(
      "\"ms_in_matrix_kernel\":%.3f,\"ms_all_sums\":%.3f,\"ms_every_tenth\":%.3f,"
      "\"ms_of_16_queries_each\":%.3f,\"cancel_ms\":%.2f,",
      sweep * 1e3, allSums * 1e3, some * 1e3, many * 1e3, afterCancel * 1e3);
  std::printf("\"affine_ms_of_1000\":%.3f,\"affine_ms_in_kernel\":%.3f,\"affine_gcups\":%.1f}", affineTime * 1e3,
              affineSweep * 1e3, affine.gigacells() / affineSweep);
  std::fflush(stdout);
  return true;
}

/* Returns the rates; {} if the bench was built without nvcc, and so without kernels. */
std::string ratesOf(const Driver& driver) {
#if defined(GLOAMING_HAS_RATES)
  return measureRates(driver);
#else
  static_cast<void>(driver);
  return "{}";
#endif
}

/* Prints all of the JSON except its end.
 * Returns  false if a result is wrong
 * Errors   CudaError */
bool measureAll(const Setting& setting, bool isEmulated) {
  Gpu gpu(setting.driver, 0, setting.image, false);
  const double peerRate = isEmulated ? 0 : cublasLtRate(gpu, randomValues(2, size_t{1} << 27));
  std::printf(
      "{\"gpu\":\"%s\",\"is_emulated\":%s,\"multiprocessors\":%u,\"cublaslt_int8_tops\":%.1f,"
      "\"searches\":[",
      gpu.facts().name.c_str(), isEmulated ? "true" : "false", gpu.facts().multiprocessors, peerRate * 1e-12);
  const char* separator = "";
  for (const uint32_t dimension : {64u, 128u}) {
    const auto store = makeStore(dimension, setting.tokenBytes);
    for (const bool isPortable : {false, true}) {
      if (!isPortable && gpu.facts().variant != Variant::kHopper) continue;
      std::printf("%s", separator);
      separator = ",";
      if (!measure(setting, isPortable, store, peerRate)) return false;
    }
  }
  // Last, because a fault of these kernels would end the context.
  std::printf("],\"rates\":%s", isEmulated ? "{}" : ratesOf(setting.driver).c_str());
  return true;
}

int run(const Setting& setting, bool isEmulated) {
  try {
    if (!measureAll(setting, isEmulated)) {
      std::printf("\nkernels-cuda-bench: a result is wrong\n");
      return 1;
    }
  } catch (const CudaError& error) {
    std::printf("\nkernels-cuda-bench: %s\n", error.what());
    return 1;
  }
  std::printf("}\n");
  return 0;
}

int runReal(uint64_t bytes) {
  std::string obstacle;
  const Driver* driver = systemDriver(obstacle);
  try {
    if (driver == nullptr) throw CudaError(obstacle);
    Fleet(*driver, cudaImage());
  } catch (const CudaError& error) {
    std::printf("kernels-cuda-bench: no GPU: %s\n", error.what());
    return kNoGpu;
  }
  return run({*driver, cudaImage(), bytes, uint64_t{512} << 20, 1'000, 20}, false);
}

int runEmulated() {
  fakeMachine().gpus = {FakeGpu{}};
  return run({fakeDriver(), fakeImage(), 256 << 10, 1 << 20, 3, 1}, true);
}

}  // namespace
}  // namespace cuda
}  // namespace gloaming

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--emulated") == 0) return gloaming::cuda::runEmulated();
  const double gibibytes = argc > 1 ? std::strtod(argv[1], nullptr) : 4;
  return gloaming::cuda::runReal(static_cast<uint64_t>(gibibytes * (1 << 30)));
}
