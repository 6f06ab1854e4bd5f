/* What the warps of both MaxSim kernels share: lanes, and the rows of a slab in registers. */
#ifndef GLOAMING_CUDA_WARP_H
#define GLOAMING_CUDA_WARP_H

#include "cuda/sweep.h"

namespace gloaming {
namespace cuda {

constexpr uint32_t kAllLanes = 0xffffffffu;

/* Volatile, so that the compiler keeps it in a register: it would read the special register again for each use. */
GLOAMING_TEAM uint32_t laneNumber() {
  uint32_t lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

template <Variant kVariant, uint32_t kDimension>
class Warp {
 public:
  using Word = uint32_t;
  static constexpr Shape kShape = shapeOf(kVariant, kDimension);

  __device__ explicit Warp(const SweepTask& task) : task_(task), lane_(laneNumber()) {}

  template <class Function, class... Words>
  GLOAMING_TEAM Word map(Function function, Words... words) const {
    return function(words...);
  }
  template <class Function, class... Words>
  GLOAMING_TEAM Word mapLanes(Function function, Words... words) const {
    return function(lane_, words...);
  }
  GLOAMING_TEAM Word fill(uint32_t value) const { return value; }
  GLOAMING_TEAM Word shuffleXor(Word word, uint32_t mask) const { return __shfl_xor_sync(kAllLanes, word, mask); }
  GLOAMING_TEAM uint32_t sumWarp(Word word) const {
    return static_cast<uint32_t>(__reduce_add_sync(kAllLanes, static_cast<int>(word)));
  }
  GLOAMING_TEAM void store(int32_t* address, int32_t value) const {
    if (lane_ == 0) *address = value;
  }

  GLOAMING_TEAM uint32_t nextChunk() const {
    uint32_t chunk = 0;
    if (lane_ == 0) chunk = atomicAdd(task_.takenChunks, 1);
    return __shfl_sync(kAllLanes, chunk, 0);
  }

  /* Into registers where there are enough of them, else into the L2 cache. The groups of a slab follow each other. */
  GLOAMING_TEAM void prefetch(const Slab& slab) {
    if constexpr (kReadsAhead) {
      read(slab, ahead_);
    } else {
      const uint32_t line = lane_ * kLineBytes;
      if (line >= slab.groupCount() * groupBytes(kDimension)) return;
      asm volatile("prefetch.global.L2 [%0];" ::"l"(task_.tokens + size_t{slab.group} * groupBytes(kDimension) + line));
    }
  }
  GLOAMING_TEAM void load(const Slab& slab) {
    if constexpr (kReadsAhead) {
#pragma unroll
      for (uint32_t s = 0; s < kShape.slabs; ++s) {
#pragma unroll
        for (uint32_t k = 0; k < 4 * kSteps; ++k) rows_[s][k] = ahead_[s][k];
      }
    } else {
      read(slab, rows_);
    }
  }

 protected:
  static constexpr uint32_t kSteps = kDimension / kStepBytes;
  /** Bytes that a lane prefetches: of a warp, a whole slab. */
  static constexpr uint32_t kLineBytes = 128;
  static_assert(2 * kShape.slabs * groupBytes(kDimension) <= 32 * kLineBytes, "a prefetch does not reach the end");

  const SweepTask& task_;
  const uint32_t lane_;
  /** Operand A of each step. */
  uint32_t rows_[kShape.slabs][4 * kSteps] = {};

 private:
  /** Whether the registers have room for the rows of the next slab. */
  static constexpr bool kReadsAhead = kDimension <= 64;

  /* The groups beyond the end of a slab are its last one, whose rows cannot change a maximum again. */
  GLOAMING_TEAM void read(const Slab& slab, uint32_t (&rows)[kShape.slabs][4 * kSteps]) const {
    if (slab.rows == 0) return;
    const uint32_t last = slab.groupCount() - 1;
    const uint8_t* own = task_.tokens + size_t{slab.group} * groupBytes(kDimension) + operandAOffset(lane_, 0, 0);
#pragma unroll
    for (uint32_t n = 0; n < 2 * kShape.slabs; ++n) {
      const uint8_t* from = own + (n < last ? n : last) * groupBytes(kDimension);
#pragma unroll
      for (uint32_t k = n % 2; k < 4 * kSteps; k += 2) {
        rows[n / 2][k] = __ldcs(reinterpret_cast<const uint32_t*>(from + operandAOffset(0, k / 4, k % 4)));
      }
    }
  }

  uint32_t ahead_[kReadsAhead ? kShape.slabs : 1][kReadsAhead ? 4 * kSteps : 1] = {};
};

}  // namespace cuda
}  // namespace gloaming

#endif
