/* The team of the portable kernel, for compute capability 8.0 and above: a warp and mma.sync m16n8k32. It keeps its
 * tile of targets in registers while it reads the whole query, so that each target byte is read once. */
#ifndef GLOAMING_CUDA_PORTABLE_H
#define GLOAMING_CUDA_PORTABLE_H

#include "cuda/sweep.h"

namespace gloaming {
namespace cuda {

constexpr uint32_t kAllLanes = 0xffffffffu;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool kHasPairMaxima = true;
#else
constexpr bool kHasPairMaxima = false;
#endif

template <uint32_t kDimension>
class WarpTeam {
 public:
  using Word = uint32_t;
  static constexpr Shape kShape = shapeOf(Variant::kPortable, kDimension);
  static constexpr uint32_t kLanes = kShape.lanes, kGroups = kShape.groups;
  static constexpr bool kFetchesAhead = false, kPacksEarly = kHasPairMaxima;

  __device__ WarpTeam(const SweepTask& task, uint8_t* shared) : task_(task), query_(shared), lane_(threadIdx.x % 32) {
    const SharedPlan plan = planShared(Variant::kPortable, kDimension, task.queryTiles);
    const uint32_t team = threadIdx.x / 32;
    closest_ = reinterpret_cast<uint32_t*>(shared + plan.closest + team * plan.closestBytes);
    sums_ = reinterpret_cast<uint32_t*>(shared + plan.sums + team * plan.sumsBytes);
  }

  template <class Function, class... Words>
  GLOAMING_TEAM Word map(Function function, Words... words) const {
    return function(words...);
  }
  template <class Function, class... Words>
  GLOAMING_TEAM Word mapLanes(Function function, Words... words) const {
    return function(lane_, words...);
  }
  GLOAMING_TEAM uint32_t uniform(uint32_t value) const { return __reduce_or_sync(kAllLanes, value); }
  GLOAMING_TEAM Word fill(uint32_t value) const { return value; }
  GLOAMING_TEAM Word shuffleXor(Word word, uint32_t mask) const { return __shfl_xor_sync(kAllLanes, word, mask); }

  GLOAMING_TEAM uint32_t nextChunk() const {
    uint32_t chunk = 0;
    if (lane_ == 0) chunk = atomicAdd(task_.takenChunks, 1);
    return __shfl_sync(kAllLanes, chunk, 0);
  }

  GLOAMING_TEAM Tile fetch(TileWalk& walk) {
    return walk.template next<kGroups>([this](uint32_t n, uint32_t group) {
      const uint8_t* from = task_.tokens + size_t{group} * groupBytes(kDimension);
#pragma unroll
      for (uint32_t k = 0; k < kSteps * 2; ++k) {
        targets_[n][k] = __ldcs(reinterpret_cast<const uint32_t*>(from + operandBOffset(lane_, k / 2, k % 2)));
      }
    });
  }
  GLOAMING_TEAM void await() const {}

  GLOAMING_TEAM void multiply(uint32_t queryTile, Word (&dots)[4 * kGroups]) const {
#pragma unroll
    for (Word& dot : dots) dot = 0;
#pragma unroll
    for (uint32_t step = 0; step < kSteps; ++step) {
      const uint4 rows = *reinterpret_cast<const uint4*>(query_ + operandAOffset(lane_, queryTile, step, kDimension));
#pragma unroll
      for (uint32_t n = 0; n < kGroups; ++n) {
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+r"(dots[4 * n]), "+r"(dots[4 * n + 1]), "+r"(dots[4 * n + 2]), "+r"(dots[4 * n + 3])
            : "r"(rows.x), "r"(rows.y), "r"(rows.z), "r"(rows.w), "r"(targets_[n][2 * step]),
              "r"(targets_[n][2 * step + 1]));
      }
    }
  }

  // A word is read by the lanes that wrote it, and shuffles lie between reads and later writes.
  GLOAMING_TEAM void keepClosest(uint32_t queryTile, Word word) const { closest_[queryTile * 8 + lane_ / 4] = word; }
  GLOAMING_TEAM Word closest(uint32_t queryTile) const { return closest_[queryTile * 8 + lane_ / 4]; }
  GLOAMING_TEAM void keepSum(uint32_t query, uint32_t value) const { sums_[query] = value; }
  GLOAMING_TEAM uint32_t sum(uint32_t query) const { return sums_[query]; }

  GLOAMING_TEAM void joinWarps(Word (&)[kGroups]) const {}
  GLOAMING_TEAM uint32_t sumWarp(Word word) const {
    return static_cast<uint32_t>(__reduce_add_sync(kAllLanes, static_cast<int>(word)));
  }
  GLOAMING_TEAM uint32_t sumRows(Word word, uint32_t quarter) const {
#pragma unroll
    for (uint32_t mask = 16; mask >= 4; mask /= 2) word += shuffleXor(word, mask);
    // The first lane stores it.
    return quarter == 0 ? word : shuffleXor(word, quarter);
  }
  GLOAMING_TEAM void store(int32_t* address, int32_t value) const {
    if (lane_ == 0) *address = value;
  }

 private:
  static constexpr uint32_t kSteps = kDimension / kStepBytes;

  const SweepTask& task_;
  const uint8_t* query_;
  const uint32_t lane_;
  uint32_t* closest_;
  uint32_t* sums_;
  uint32_t targets_[kGroups][kSteps * 2] = {};
};

}  // namespace cuda
}  // namespace gloaming

#endif
