/* Loops of one instruction each, for cuda_rates.h. */
#include "cuda/pairs.h"
#include "cuda/wgmma.h"
#include "test/cuda_rates.h"

namespace gloaming {
namespace cuda {
namespace {

extern __shared__ __align__(128) uint8_t sharedMemory[];

/* Stores the time since `start`, and the results, so that the compiler cannot remove the loop. */
template <uint32_t count>
__device__ __forceinline__ void conclude(const RateTask& task, uint64_t start, const uint32_t (&results)[count]) {
  __syncthreads();
  if (threadIdx.x == 0) task.clocks[blockIdx.x] = clock64() - start;
  uint32_t all = 0;
#pragma unroll
  for (const uint32_t result : results) all ^= result;
  if (all == task.seed) *task.sink = all;
}

/* Calls step(word, its neighbour, the next one) for each chain and round. Chains are independent of each other. */
template <class Step>
__device__ __forceinline__ void measure(const RateTask& task, Step step) {
  uint32_t words[kChains];
#pragma unroll
  for (uint32_t k = 0; k < kChains; ++k) words[k] = (task.seed + k) * (threadIdx.x + 2'654'435'761u);
  __syncthreads();
  const uint64_t start = clock64();
  for (uint32_t round = 0; round < task.rounds; ++round) {
#pragma unroll
    for (uint32_t k = 0; k < kChains; ++k) {
      words[k] = step(words[k], words[(k + 1) % kChains], words[(k + 2) % kChains]);
    }
  }
  conclude(task, start, words);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kRateThreads) rate_max_words(const __grid_constant__ RateTask task) {
  measure(task, [](uint32_t a, uint32_t b, uint32_t) { return largerWord(a, b); });
}
extern "C" __global__ void __launch_bounds__(kRateThreads) rate_max3_words(const __grid_constant__ RateTask task) {
  measure(task, [](uint32_t a, uint32_t b, uint32_t c) { return largestWord(a, b, c); });
}
extern "C" __global__ void __launch_bounds__(kRateThreads) rate_max_pairs(const __grid_constant__ RateTask task) {
  measure(task, [](uint32_t a, uint32_t b, uint32_t) { return largerPair(a, b); });
}
extern "C" __global__ void __launch_bounds__(kRateThreads) rate_max3_pairs(const __grid_constant__ RateTask task) {
  measure(task, [](uint32_t a, uint32_t b, uint32_t c) { return largestPair(a, b, c); });
}
extern "C" __global__ void __launch_bounds__(kRateThreads) rate_join(const __grid_constant__ RateTask task) {
  measure(task, [](uint32_t a, uint32_t b, uint32_t) { return joinLow(a, b); });
}

extern "C" __global__ void __launch_bounds__(kRateThreads) rate_mma(const __grid_constant__ RateTask task) {
  const uint32_t a = task.seed * (threadIdx.x + 1), b = task.seed ^ threadIdx.x * 2'654'435'761u;
  uint32_t dots[4 * kChains] = {};
  __syncthreads();
  const uint64_t start = clock64();
  for (uint32_t round = 0; round < task.rounds; ++round) {
#pragma unroll
    for (uint32_t k = 0; k < 4 * kChains; k += 4) {
      asm volatile(
          "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %4, %5}, {%5, %4}, "
          "{%0, %1, %2, %3};"
          : "+r"(dots[k]), "+r"(dots[k + 1]), "+r"(dots[k + 2]), "+r"(dots[k + 3])
          : "r"(a), "r"(b));
    }
  }
  conclude(task, start, dots);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
/* Four steps a round, as the kernel has for dimension 128; random bytes in registers and shared memory. */
extern "C" __global__ void __launch_bounds__(kWgmmaThreads, 1) rate_wgmma(const __grid_constant__ RateTask task) {
  constexpr uint32_t dimension = 128, kOperandBytes = 64 * dimension;
  auto* words = reinterpret_cast<uint32_t*>(sharedMemory);
  for (uint32_t k = threadIdx.x; k < kOperandBytes / 4; k += blockDim.x) words[k] = (task.seed + k) * 2'654'435'761u;
  fenceProxyAsync();
  __syncthreads();
  uint32_t rows[4], dots[32], sums[1] = {};
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) rows[k] = (task.seed ^ threadIdx.x + k) * 2'654'435'761u;
  const uint64_t start = clock64();
  // Unrolled rounds would need too many registers.
#pragma unroll 1
  for (uint32_t round = 0; round < task.rounds; ++round) {
    Descriptor query = coreDescriptor(sharedAddress(sharedMemory), dimension);
    multiplyFence();
    multiplyStep<false>(dots, rows, query);
#pragma unroll
    for (uint32_t step = 1; step < dimension / kStepBytes; ++step) {
      query = nextStep(query);
      multiplyStep<true>(dots, rows, query);
    }
    multiplyCommit();
    multiplyWait<0>(dots);
    sums[0] ^= dots[0] + dots[31];
  }
  conclude(task, start, sums);
}
#endif

}  // namespace cuda
}  // namespace gloaming
