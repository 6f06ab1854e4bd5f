/* The team of the Hopper kernel (compute capability 9.0): a warpgroup, wgmma m64nNk32 with both operands in shared
 * memory. The bulk copy engine copies the next tile of targets while the team multiplies the current one. */
#ifndef GLOAMING_CUDA_HOPPER_H
#define GLOAMING_CUDA_HOPPER_H

#include "cuda/portable.h"
#include "cuda/wgmma.h"

namespace gloaming {
namespace cuda {

template <uint32_t kDimension>
class WarpgroupTeam {
 public:
  using Word = uint32_t;
  static constexpr Shape kShape = shapeOf(Variant::kHopper, kDimension);
  static constexpr uint32_t kLanes = kShape.lanes, kGroups = kShape.groups;
  static constexpr bool kFetchesAhead = true, kPacksEarly = true;

  /* Called by every thread of the block, which then synchronizes. */
  __device__ WarpgroupTeam(const SweepTask& task, uint8_t* shared)
      : task_(task), team_(threadIdx.x / kLanes), lane_(threadIdx.x % kLanes), query_(sharedAddress(shared)) {
    const SharedPlan plan = planShared(Variant::kHopper, kDimension, task.queryTiles);
    stages_ = sharedAddress(shared + plan.stages) + team_ * kStages * kStageBytes;
    exchange_ = reinterpret_cast<uint32_t*>(shared + plan.exchange + team_ * plan.exchangeBytes);
    closest_ = reinterpret_cast<uint32_t*>(shared + plan.closest + team_ * plan.closestBytes);
    sums_ = reinterpret_cast<uint32_t*>(shared + plan.sums + team_ * plan.sumsBytes) + lane_ / 32 * kMaxLaunchQueries;
    slot_ = reinterpret_cast<uint32_t*>(shared + plan.slots + team_ * 16);
    barriers_ = sharedAddress(shared + plan.barriers) + team_ * kStages * 8;
    if (lane_ == 0) {
      for (uint32_t stage = 0; stage < kStages; ++stage) barrierInit(barriers_ + stage * 8);
    }
    // The copy engine signals the barriers, the tensor cores read the query: both were written by ordinary stores.
    fenceProxyAsync();
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

  /* A tile, hence a synchronization, separates two calls, so that no thread overwrites unread values of another. */
  GLOAMING_TEAM uint32_t nextChunk() const {
    if (lane_ == 0) *slot_ = atomicAdd(task_.takenChunks, 1);
    synchronize();
    return *slot_;
  }

  /* The tile before the last has read the stage that this writes, and all warps have synchronized since. Contiguous
   * groups are one copy; without a filter all groups are contiguous. */
  GLOAMING_TEAM Tile fetch(TileWalk& walk) {
    const uint32_t stage = fetched_ % kStages, barrier = barriers_ + stage * 8;
    uint32_t run = 0, runLength = 0, runAt = 0;
    const auto copyRun = [&] {
      if (lane_ != 0 || runLength == 0) return;
      copyBulk(stages_ + stage * kStageBytes + runAt * groupBytes(kDimension),
               task_.tokens + size_t{run} * groupBytes(kDimension), runLength * groupBytes(kDimension), barrier);
    };
    const Tile tile = walk.template next<kGroups>([&](uint32_t n, uint32_t group) {
      if (group != run + runLength) {
        copyRun();
        run = group;
        runLength = 0;
        runAt = n;
      }
      ++runLength;
    });
    copyRun();
    if (tile.groupCount == 0) return tile;
    // Bytes that have arrived before this call count as well.
    if (lane_ == 0) barrierArrive(barrier, tile.groupCount * groupBytes(kDimension));
    ++fetched_;
    return tile;
  }
  GLOAMING_TEAM void await() {
    stage_ = awaited_ % kStages;
    barrierWait(barriers_ + stage_ * 8, awaited_ / kStages % 2);
    ++awaited_;
  }

  GLOAMING_TEAM void multiply(uint32_t queryTile, Word (&dots)[4 * kGroups]) const {
    Descriptor rows = coreDescriptor(query_ + queryTile * kShape.queryRows() * kDimension, kDimension);
    Descriptor targets = coreDescriptor(stages_ + stage_ * kStageBytes, kDimension);
    multiplyFence();
    multiplyStep<false>(dots, rows, targets);
#pragma unroll
    for (uint32_t step = 1; step < kDimension / kStepBytes; ++step) {
      rows = nextStep(rows);
      targets = nextStep(targets);
      multiplyStep<true>(dots, rows, targets);
    }
    multiplyWait(dots);
  }

  // A word is read by the lanes that wrote it, and shuffles lie between reads and later writes.
  GLOAMING_TEAM void keepClosest(uint32_t queryTile, Word word) const { closest_[queryTile * 32 + lane_ / 4] = word; }
  GLOAMING_TEAM Word closest(uint32_t queryTile) const { return closest_[queryTile * 32 + lane_ / 4]; }
  GLOAMING_TEAM void keepSum(uint32_t query, uint32_t value) const { sums_[query] = value; }
  GLOAMING_TEAM uint32_t sum(uint32_t query) const { return sums_[query]; }

  GLOAMING_TEAM void joinWarps(Word (&words)[kGroups]) {
    uint32_t* area = nextExchange();
#pragma unroll
    for (uint32_t i = 0; i < kGroups / 8; ++i) area[lane_ / 32 * kGroups * 4 + i * 32 + lane_ % 32] = words[i];
    synchronize();
#pragma unroll
    for (uint32_t i = 0; i < kGroups / 8; ++i) {
#pragma unroll
      for (uint32_t warp = 0; warp < 4; ++warp) {
        words[i] = largerPair(words[i], area[warp * kGroups * 4 + i * 32 + lane_ % 32]);
      }
    }
  }
  GLOAMING_TEAM uint32_t sumWarp(Word word) const {
    return static_cast<uint32_t>(__reduce_add_sync(kAllLanes, static_cast<int>(word)));
  }
  GLOAMING_TEAM uint32_t sumRows(Word word, uint32_t quarter) {
#pragma unroll
    for (uint32_t mask = 16; mask >= 4; mask /= 2) word += shuffleXor(word, mask);
    uint32_t* area = nextExchange();
    if (lane_ % 32 == quarter) area[lane_ / 32] = word;
    synchronize();
    return area[0] + area[1] + area[2] + area[3];
  }
  GLOAMING_TEAM void store(int32_t* address, int32_t value) const {
    if (lane_ == 0) *address = value;
  }

 private:
  static constexpr uint32_t kStageBytes = kGroups * groupBytes(kDimension);

  /** The threads of this team only; barrier 0 is the block's. */
  GLOAMING_TEAM void synchronize() const { asm volatile("bar.sync %0, 128;" ::"r"(team_ + 1) : "memory"); }
  /* Two areas alternate. A thread that writes to one again has passed the synchronization of the other, so all threads
   * have read the first. */
  GLOAMING_TEAM uint32_t* nextExchange() {
    exchanged_ ^= 1;
    return exchange_ + exchanged_ * 4 * kGroups * 4;
  }

  const SweepTask& task_;
  const uint32_t team_, lane_;
  const uint32_t query_;
  uint32_t stages_, barriers_;
  uint32_t* exchange_;
  uint32_t* closest_;
  uint32_t* sums_;
  uint32_t* slot_;
  uint32_t fetched_ = 0, awaited_ = 0, stage_ = 0, exchanged_ = 0;
};

}  // namespace cuda
}  // namespace gloaming

#endif
