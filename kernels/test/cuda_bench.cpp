/* Times the CUDA kernels on this machine's first GPU and prints JSON: a query of 300 residues against random tokens,
 * both directions, exact, the best 1,000 chosen on the GPU; by the clock from the call to the answer. In the same run
 * the int8 rate of cuBLASLt, where it is installed. Each figure is a median; before any, an answer is checked.
 *
 *   kernels-cuda-bench [GiB of tokens, default 4]        exit code 77: no GPU
 */
#include "cuda/image.h"
#include "cuda/sweep_search.h"
#include "test/cublaslt.h"
#include "test/oracle.h"
#include "test/random_tokens.h"

namespace gloaming {
namespace cuda {
namespace {

constexpr int kNoGpu = 77;
constexpr uint32_t kQueryLength = 300, kWanted = 1'000;
/** Residues of Swiss-Prot, which the bars of the project are for. */
constexpr double kSwissProtResidues = 205e6;

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

/* Prints one member of the JSON; false if an answer is wrong. */
bool measure(const Driver& driver, bool isPortable, const std::shared_ptr<const Store>& store, double peerRate) {
  Fleet fleet(driver, cudaImage(), {uint64_t{512} << 20, isPortable});
  const std::atomic<bool> cancelled{false};
  const double start = seconds();
  const auto release = fleet.hold(store, cancelled);
  const double loadSeconds = seconds() - start;
  const ReleasePart& part = release->parts.front();
  const auto rows = randomValues(1, size_t{kQueryLength} * store->dimension());
  const Tokens query{rows.data(), kQueryLength, store->dimension()};
  SweepSearch search(part, *store, {query}, std::nullopt, cancelled);
  if (!isRight(search, *store, query)) return false;

  std::vector<double> times;
  for (int round = 0; round < 25; ++round) {
    const double from = seconds();
    search.best(kWanted);
    if (round >= 5) times.push_back(seconds() - from);
  }
  double residues = 0;
  for (uint32_t t = part.firstTarget; t < part.endTarget; ++t) residues += store->length(t);
  const double time = median(times), rate = 2 * residues * kQueryLength * store->dimension() / time;
  std::printf("{\"kernel\":\"%s\",\"dimension\":%u,\"residues\":%.0f,\"load_s\":%.2f,\"ms\":%.3f,\"ms_least\":%.3f,"
              "\"ms_most\":%.3f,\"ms_205M\":%.2f,\"tops\":%.1f,\"cublaslt_share\":%.3f}",
              part.gpu->facts().variant == Variant::kHopper ? "hopper" : "portable", store->dimension(), residues,
              loadSeconds, time * 1e3, *std::min_element(times.begin(), times.end()) * 1e3,
              *std::max_element(times.begin(), times.end()) * 1e3, time * 1e3 * kSwissProtResidues / residues,
              rate * 1e-12, peerRate > 0 ? rate / peerRate : 0);
  return true;
}

int run(uint64_t bytes) {
  std::string obstacle;
  const Driver* driver = systemDriver(obstacle);
  double peerRate = 0;
  Gpu::Facts facts;
  try {
    if (driver == nullptr) throw CudaError(obstacle);
    if (cudaImage() == nullptr) throw CudaError("this build has no CUDA kernels");
    Gpu gpu(*driver, 0, cudaImage(), false);
    facts = gpu.facts();
    peerRate = cublasLtRate(gpu, randomValues(2, size_t{1} << 27));
  } catch (const CudaError& error) {
    std::printf("kernels-cuda-bench: no GPU: %s\n", error.what());
    return kNoGpu;
  }
  std::printf("{\"gpu\":\"%s\",\"multiprocessors\":%u,\"cublaslt_int8_tops\":%.1f,\"searches\":[", facts.name.c_str(),
              facts.multiprocessors, peerRate * 1e-12);
  const char* separator = "";
  for (const uint32_t dimension : {64u, 128u}) {
    const auto store = makeStore(dimension, bytes);
    for (const bool isPortable : {false, true}) {
      if (!isPortable && facts.variant != Variant::kHopper) continue;
      std::printf("%s", separator);
      separator = ",";
      if (!measure(*driver, isPortable, store, peerRate)) {
        std::printf("\nkernels-cuda-bench: an answer is wrong\n");
        return 1;
      }
    }
  }
  std::printf("]}\n");
  return 0;
}

}  // namespace
}  // namespace cuda
}  // namespace gloaming

int main(int argc, char** argv) {
  const double gibibytes = argc > 1 ? std::strtod(argv[1], nullptr) : 4;
  return gloaming::cuda::run(static_cast<uint64_t>(gibibytes * (1 << 30)));
}
