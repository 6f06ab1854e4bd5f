/* How many of the instructions that MaxSim is made of a multiprocessor does in a clock: what the kernels were designed
 * by, measured. */
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
  /** Takes a result that never comes, so that no instruction is left out. */
  uint32_t* sink;
};

/** Instructions that each thread has in flight, one after the other of each. */
constexpr uint32_t kChains = 8;
/** Threads of a block, of which each multiprocessor has one; three warpgroups for wgmma, as in the kernel. */
constexpr uint32_t kRateThreads = 1'024, kWgmmaThreads = 384;
/** Of an m16n8k32 product and of an m64n128k32 product. */
constexpr double kMmaProducts = 16 * 8 * 32, kWgmmaProducts = 64 * 128 * 32;

/* Measures on the first GPU.
 * Returns  a JSON object: per multiprocessor and clock, lanes of each maximum and int8 multiply-adds of each product;
 *          and the clock that the GPU ran at
 * Errors   CudaError */
std::string measureRates(const Driver& driver);

}  // namespace cuda
}  // namespace gloaming

#endif
