/* Measures the rates of MaxSim's instructions on a multiprocessor, per clock: the assumptions of the kernels'
 * design. */
#ifndef GLOAMING_TEST_CUDA_RATES_H
#define GLOAMING_TEST_CUDA_RATES_H

#include <cstdint>
#include <string>

#include "cuda/host/driver.h"

namespace gloaming {
namespace cuda {

struct RateTask {
  uint32_t seed, rounds;
  /** [blocks]: clocks from a block's first instruction to its last. */
  uint64_t* clocks;
  /** Destination of a result that never occurs, so that the compiler keeps all instructions. */
  uint32_t* sink;
};

/** Independent dependency chains of each thread. */
constexpr uint32_t kChains = 8;
/** Threads of a block; each multiprocessor has one block. Three warpgroups for wgmma, as in the kernel. */
constexpr uint32_t kRateThreads = 1'024, kWgmmaThreads = 384;
/** Multiply-adds of an m16n8k32 product and of an m64n64k32 product. */
constexpr double kMmaProducts = 16 * 8 * 32, kWgmmaProducts = 64 * 64 * 32;

/* Measures on the first GPU.
 * Returns  a JSON object: per multiprocessor and clock, lanes of each maximum and int8 multiply-adds of each product;
 *          and the clock rate of the GPU
 * Errors   CudaError */
std::string measureRates(const Driver& driver);

}  // namespace cuda
}  // namespace gloaming

#endif
