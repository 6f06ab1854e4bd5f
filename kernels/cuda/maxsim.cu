/* The CUDA kernels, compiled to a fat binary inside the host library. They have C names, one per dimension. */
#include "cuda/affine_warp.h"
#include "cuda/hopper.h"
#include "cuda/portable.h"
#include "cuda/select.h"

namespace gloaming {
namespace cuda {
namespace {

extern __shared__ __align__(128) uint8_t sharedMemory[];

template <class Team>
__device__ __forceinline__ void run(const SweepTask& task, uint32_t dimension) {
  const uint32_t bytes = task.queryTiles * Team::kShape.tileRows() * dimension;
  const auto* from = reinterpret_cast<const uint4*>(task.query);
  auto* to = reinterpret_cast<uint4*>(sharedMemory);
  for (uint32_t k = threadIdx.x; k < bytes / 16; k += blockDim.x) to[k] = from[k];
  Team team(task, sharedMemory);
  __syncthreads();
  sweep(team, task);
}

}  // namespace

#define GLOAMING_PORTABLE(D) \
  extern "C" __global__ void __launch_bounds__(PortableWarp<D>::kShape.threads(), 1) \
      maxsim_portable_##D(const __grid_constant__ SweepTask task) { \
    run<PortableWarp<D>>(task, D); \
  }
GLOAMING_PORTABLE(32)
GLOAMING_PORTABLE(64)
GLOAMING_PORTABLE(96)
GLOAMING_PORTABLE(128)
GLOAMING_PORTABLE(160)
GLOAMING_PORTABLE(192)
GLOAMING_PORTABLE(224)
GLOAMING_PORTABLE(256)

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define GLOAMING_HOPPER(D) \
  extern "C" __global__ void __launch_bounds__(HopperWarp<D>::kShape.threads(), 1) \
      maxsim_hopper_##D(const __grid_constant__ SweepTask task) { \
    run<HopperWarp<D>>(task, D); \
  }
GLOAMING_HOPPER(32)
GLOAMING_HOPPER(64)
GLOAMING_HOPPER(96)
GLOAMING_HOPPER(128)
GLOAMING_HOPPER(160)
GLOAMING_HOPPER(192)
GLOAMING_HOPPER(224)
GLOAMING_HOPPER(256)
#endif

extern "C" __global__ void select_keys(const __grid_constant__ SelectTask task) {
  const uint32_t item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item < task.itemCount) writeKey(task, item);
}

/* Launched with kDigits threads. */
extern "C" __global__ void select_count(const __grid_constant__ SelectTask task, uint32_t digit) {
  __shared__ uint32_t counts[kDigits];
  counts[threadIdx.x] = 0;
  __syncthreads();
  const uint64_t prefix = task.state->prefix;
  for (uint32_t item = blockIdx.x * blockDim.x + threadIdx.x; item < task.itemCount; item += gridDim.x * blockDim.x) {
    const uint64_t key = task.keys[item];
    if (beginsLike(key, prefix, digit)) atomicAdd(counts + digitOf(key, digit), 1);
  }
  __syncthreads();
  if (counts[threadIdx.x] > 0) atomicAdd(task.histogram + threadIdx.x, counts[threadIdx.x]);
}

/* One block of kDigits threads. It clears the histogram for the next digit. One thread reads the histogram from a copy
 * in shared memory, whose latency is a tenth. */
extern "C" __global__ void select_pick(const __grid_constant__ SelectTask task, uint32_t digit) {
  __shared__ uint32_t counts[kDigits];
  counts[threadIdx.x] = task.histogram[threadIdx.x];
  task.histogram[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x == 0) *task.state = pickDigit(counts, *task.state, digit);
}

extern "C" __global__ void select_collect(const __grid_constant__ SelectTask task) {
  const uint32_t item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= task.itemCount || task.keys[item] < task.state->prefix) return;
  const uint32_t place = atomicAdd(task.foundCount, 1);
  if (place < task.foundRoom) task.found[place] = {item, task.queryToTarget[item], task.targetToQuery[item]};
}

#define GLOAMING_AFFINE(D) \
  extern "C" __global__ void __launch_bounds__(kWarpLanes, 1) \
      affine_##D(const __grid_constant__ AffineLaunch launch) { \
    AffineWarp<D> team(reinterpret_cast<uint32_t*>(sharedMemory)); \
    scoreItems<D>(team, launch); \
  }
GLOAMING_AFFINE(32)
GLOAMING_AFFINE(64)
GLOAMING_AFFINE(96)
GLOAMING_AFFINE(128)
GLOAMING_AFFINE(160)
GLOAMING_AFFINE(192)
GLOAMING_AFFINE(224)
GLOAMING_AFFINE(256)

}  // namespace cuda
}  // namespace gloaming
