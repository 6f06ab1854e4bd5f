/* The warp of the Hopper kernel (compute capability 9.0). Four warps multiply together by wgmma, each its own slab with
 * the same tile of the query in shared memory. */
#ifndef GLOAMING_CUDA_HOPPER_H
#define GLOAMING_CUDA_HOPPER_H

#include "cuda/warp.h"
#include "cuda/wgmma.h"

namespace gloaming {
namespace cuda {

template <uint32_t kDimension>
class HopperWarp : public Warp<Variant::kHopper, kDimension> {
  using Base = Warp<Variant::kHopper, kDimension>;

 public:
  using Base::kShape;
  using typename Base::Word;
  static constexpr bool kPacks = true;

  /* Called by every thread of the block, which then synchronizes. */
  __device__ HopperWarp(const SweepTask& task, uint8_t* shared)
      : Base(task), query_(coreDescriptor(sharedAddress(shared), kDimension)), barrier_(threadIdx.x / 128 + 1) {
    // The tensor cores read the query, which was written by ordinary stores.
    fenceProxyAsync();
  }

  /* Waits for the four warps. */
  GLOAMING_TEAM bool isAnyBusy(bool isBusy) const {
    uint32_t any;
    // The operands stay on one line.
    // clang-format off
    asm volatile(
        "{\n\t"
        ".reg .pred own, all;\n\t"
        "setp.ne.u32 own, %1, 0;\n\t"
        "barrier.cta.red.or.pred all, %2, 128, own;\n\t"
        "selp.u32 %0, 1, 0, all;\n\t"
        "}" : "=r"(any) : "r"(static_cast<uint32_t>(isBusy)), "r"(barrier_) : "memory");
    // clang-format on
    return any != 0;
  }

  /* The slabs are multiplied one after the other, so that the first is folded while the second is multiplied. */
  GLOAMING_TEAM void start(uint32_t tile, Word (&dots)[kShape.slabs][32]) const {
    multiplyFence();
#pragma unroll
    for (uint32_t s = 0; s < kShape.slabs; ++s) {
      Descriptor query{query_.bits + tile * (kShape.tileRows() * kDimension >> 4)};
      multiplyStep<false>(dots[s], this->rows_[s], query);
#pragma unroll
      for (uint32_t step = 1; step < Base::kSteps; ++step) {
        query = nextStep(query);
        multiplyStep<true>(dots[s], this->rows_[s] + 4 * step, query);
      }
      multiplyCommit();
    }
  }
  template <uint32_t kSlab>
  GLOAMING_TEAM void finish(Word (&dots)[kShape.slabs][32]) const {
    multiplyWait<kShape.slabs - 1 - kSlab>(dots[kSlab]);
  }

 private:
  const Descriptor query_;
  /** Named barrier of the four warps; 0 is the block's. */
  const uint32_t barrier_;
};

}  // namespace cuda
}  // namespace gloaming

#endif
