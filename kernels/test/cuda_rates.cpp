#include "test/cuda_rates.h"

#include <cstdio>

#include "cuda/embed.h"
#include "cuda/host/gpu.h"
#include "test/clock.h"

GLOAMING_EMBED(gloaming_rates_image, GLOAMING_RATES_IMAGE);

namespace gloaming {
namespace cuda {
namespace {

struct Rate {
  const char* kernel;
  /** Operations of one round of a block. */
  double workOfRound;
  uint32_t threads, sharedBytes, rounds;
};

constexpr double kLaneWork = double{kRateThreads} * kChains;
// clang-format 14 takes these products for pointers.
// clang-format off
constexpr Rate kRates[] = {
    {"rate_max_words", kLaneWork, kRateThreads, 0, 100'000},
    {"rate_max3_words", kLaneWork, kRateThreads, 0, 100'000},
    {"rate_max_pairs", kLaneWork, kRateThreads, 0, 100'000},
    {"rate_max3_pairs", kLaneWork, kRateThreads, 0, 100'000},
    {"rate_join", kLaneWork, kRateThreads, 0, 100'000},
    {"rate_mma", kMmaProducts * kRateThreads / 32 * kChains, kRateThreads, 0, 20'000},
    {"rate_wgmma", kWgmmaProducts * kWgmmaThreads / 128 * 4, kWgmmaThreads, 64 * 128, 20'000},
};
// clang-format on

}  // namespace

std::string measureRates(const Driver& driver) {
  Gpu gpu(driver, 0, gloaming_rates_image, false);
  const uint32_t blocks = gpu.facts().multiprocessors;
  const GpuMemory clocks(gpu, blocks * sizeof(uint64_t)), sink(gpu, 4);
  std::string json = "{";
  double gigahertz = 0;
  for (const Rate& rate : kRates) {
    if (rate.threads == kWgmmaThreads && gpu.facts().variant != Variant::kHopper) continue;
    RateTask task{0x9e3779b9, rate.rounds, clocks.as<uint64_t>(), sink.as<uint32_t>()};
    double took = 0;
    // Once to warm up.
    for (int repeat = 0; repeat < 2; ++repeat) {
      const double start = seconds();
      gpu.launch(rate.kernel, blocks, rate.threads, rate.sharedBytes, {&task});
      gpu.wait();
      took = seconds() - start;
    }
    std::vector<uint64_t> counted(blocks);
    gpu.copyOut(counted.data(), clocks.address(), blocks * sizeof(uint64_t));
    gpu.wait();
    const double middle = median({counted.begin(), counted.end()});
    gigahertz = std::max(gigahertz, middle / took * 1e-9);
    char text[96];
    std::snprintf(text, sizeof text, "\"%s\":%.2f,", rate.kernel + sizeof "rate",
                  rate.workOfRound * rate.rounds / middle);
    json += text;
  }
  return json + "\"gigahertz\":" + std::to_string(gigahertz) + "}";
}

}  // namespace cuda
}  // namespace gloaming
