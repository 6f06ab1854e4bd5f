/* Cuts listed targets into slabs: neighbouring groups of one protein that a warp compares at once. */
#ifndef GLOAMING_CUDA_WALK_H
#define GLOAMING_CUDA_WALK_H

#include "cuda/layout.h"

namespace gloaming {
namespace cuda {

/** Neighbouring places of the list, for one warp. A chunk has whole proteins, so that warps share no sum. */
struct Chunk {
  uint32_t firstItem, endItem;
  /** Groups of all places before, in the order of the launch: the offset of the chunk's row maxima. */
  uint32_t firstGroup;
};

/** A release on one device; eligible lists some of its targets, null means all. */
struct TargetList {
  const uint32_t* firstGroups;
  const uint32_t* lengths;
  const uint32_t* eligible;
};

/** Neighbouring rows of one protein, from a group on. */
struct Slab {
  /** Rows without padding; 0 if there is no slab. */
  uint32_t rows;
  /** Number of its first group on the device, and in the launch. */
  uint32_t group, launchGroup;
  /** Place of its protein in the list. */
  uint32_t item;
  bool isLast;

  GLOAMING_BOTH uint32_t groupCount() const { return groupsOf(rows); }
};

/* Iterates over slabs, chunk by chunk. It reads the place of the next protein ahead, because it waits for the memory
 * otherwise. */
class SlabWalk {
 public:
  GLOAMING_TEAM SlabWalk(const TargetList& targets, const Chunk* chunks, uint32_t chunkCount)
      : targets_(targets), chunks_(chunks), chunkCount_(chunkCount) {}

  /* Returns the next slab of at most mostRows rows.
   * Calls  team.nextChunk(): the number of the next unclaimed chunk */
  template <class Team>
  GLOAMING_TEAM Slab next(uint32_t mostRows, Team& team) {
    if (rowsLeft_ == 0) {
      if (item_ == endItem_) {
        const uint32_t number = team.nextChunk();
        if (number >= chunkCount_) return Slab{0, 0, 0, 0, false};
        item_ = chunks_[number].firstItem;
        endItem_ = chunks_[number].endItem;
        launchGroup_ = chunks_[number].firstGroup;
        readAhead(item_);
      }
      group_ = aheadGroup_;
      rowsLeft_ = aheadLength_;
      if (item_ + 1 < endItem_) readAhead(item_ + 1);
    }
    const uint32_t rows = rowsLeft_ < mostRows ? rowsLeft_ : mostRows;
    const Slab slab{rows, group_, launchGroup_, item_, rows == rowsLeft_};
    group_ += slab.groupCount();
    launchGroup_ += slab.groupCount();
    rowsLeft_ -= rows;
    if (slab.isLast) ++item_;
    return slab;
  }

 private:
  GLOAMING_TEAM void readAhead(uint32_t item) {
    const uint32_t target = targets_.eligible == nullptr ? item : targets_.eligible[item];
    aheadGroup_ = targets_.firstGroups[target];
    aheadLength_ = targets_.lengths[target];
  }

  const TargetList& targets_;
  const Chunk* chunks_;
  const uint32_t chunkCount_;
  uint32_t item_ = 0, endItem_ = 0, launchGroup_ = 0;
  uint32_t group_ = 0, rowsLeft_ = 0;
  uint32_t aheadGroup_ = 0, aheadLength_ = 0;
};

}  // namespace cuda
}  // namespace gloaming

#endif
