/* The warp of the portable kernel, for compute capability 8.0 and above: mma.sync m16n8k32, two slabs for each read of
 * the query from shared memory. */
#ifndef GLOAMING_CUDA_PORTABLE_H
#define GLOAMING_CUDA_PORTABLE_H

#include "cuda/warp.h"

namespace gloaming {
namespace cuda {

template <uint32_t kDimension>
class PortableWarp : public Warp<Variant::kPortable, kDimension> {
  using Base = Warp<Variant::kPortable, kDimension>;

 public:
  using Base::kShape;
  using typename Base::Word;
  // Before compute capability 9.0 a maximum of pairs is several instructions.
  static constexpr bool kPacks = false;

  __device__ PortableWarp(const SweepTask& task, uint8_t* shared) : Base(task), query_(shared) {}

  GLOAMING_TEAM bool isAnyBusy(bool isBusy) const { return isBusy; }

  GLOAMING_TEAM void start(uint32_t tile, Word (&dots)[kShape.slabs][4 * kShape.tileGroups]) const {
#pragma unroll
    for (auto& ofSlab : dots) {
#pragma unroll
      for (Word& dot : ofSlab) dot = 0;
    }
#pragma unroll
    for (uint32_t step = 0; step < Base::kSteps; ++step) {
#pragma unroll
      for (uint32_t n = 0; n < kShape.tileGroups; ++n) {
        const uint2 query = *reinterpret_cast<const uint2*>(
            query_ + operandBOffset(this->lane_, tile * kShape.tileGroups + n, step, kDimension));
#pragma unroll
        for (uint32_t s = 0; s < kShape.slabs; ++s) multiply(dots[s] + 4 * n, this->rows_[s] + 4 * step, query);
      }
    }
  }
  template <uint32_t>
  GLOAMING_TEAM void finish(Word (&)[kShape.slabs][4 * kShape.tileGroups]) const {}

 private:
  static GLOAMING_TEAM void multiply(Word* dots, const Word* rows, uint2 query) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(dots[0]), "+r"(dots[1]), "+r"(dots[2]), "+r"(dots[3])
        : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(query.x), "r"(query.y));
  }

  const uint8_t* query_;
};

}  // namespace cuda
}  // namespace gloaming

#endif
