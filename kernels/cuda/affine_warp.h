/* The team of the affine kernels: a warp, alone in its block. */
#ifndef GLOAMING_CUDA_AFFINE_WARP_H
#define GLOAMING_CUDA_AFFINE_WARP_H

#include "cuda/affine.h"

namespace gloaming {
namespace cuda {

template <uint32_t kDimension>
class AffineWarp {
 public:
  explicit __device__ AffineWarp(uint32_t* table) : table_(table) {}

  template <class Function>
  GLOAMING_TEAM void each(Function function) {
    function(threadIdx.x, lane_);
  }
  GLOAMING_TEAM void handDown() {
    lane_.above = {__shfl_up_sync(kAll, lane_.below.H, 1), __shfl_up_sync(kAll, lane_.below.F, 1),
                   __shfl_up_sync(kAll, lane_.below.nearest, 1)};
  }
  GLOAMING_TEAM void meet() const { __syncwarp(); }
  GLOAMING_TEAM uint32_t* table() const { return table_; }
  template <class Function>
  GLOAMING_TEAM int32_t largest(Function function) const {
    return __reduce_max_sync(kAll, function(lane_));
  }
  template <class Function>
  GLOAMING_TEAM int32_t sum(Function function) const {
    return __reduce_add_sync(kAll, function(lane_));
  }
  template <class Function>
  GLOAMING_TEAM void once(Function function) const {
    if (threadIdx.x == 0) function();
  }
  GLOAMING_TEAM uint32_t nextItem(const AffineLaunch& launch) const {
    uint32_t item = 0;
    if (threadIdx.x == 0) item = atomicAdd(launch.takenItems, 1);
    return __shfl_sync(kAll, item, 0);
  }

 private:
  static constexpr uint32_t kAll = 0xffffffffu;

  AffineLane<kDimension> lane_;
  uint32_t* table_;
};

}  // namespace cuda
}  // namespace gloaming

#endif
