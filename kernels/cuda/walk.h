/* Maps each group of a tile to its protein. The listed targets of a chunk are laid end to end, group by group, and cut
 * into tiles of equal size, so that a sparse list still fills its tiles. */
#ifndef GLOAMING_CUDA_WALK_H
#define GLOAMING_CUDA_WALK_H

#include "cuda/layout.h"

namespace gloaming {
namespace cuda {

/** Neighbouring places of the list, for one team. A chunk has whole proteins, so that teams share no sum. */
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

/** Up to 16 neighbouring groups of a chunk. */
struct Tile {
  uint32_t groupCount;
  /** Bit n: group n is the last of its protein. */
  uint32_t ends;
  /** Four bits for each group that ends a protein: the number of its rows without padding, minus one. */
  uint64_t lastRows;
  /** Position in the eligible list of the protein that group 0 belongs to. */
  uint32_t firstItem;
  /** Whether that protein began in an earlier tile. */
  bool continues;
  /** Number of group 0 in the launch. */
  uint32_t firstGroup;
};

GLOAMING_BOTH bool endsAt(const Tile& tile, uint32_t group) { return (tile.ends >> group & 1) != 0; }
/** Rows of a group without padding. */
GLOAMING_BOTH uint32_t rowsOf(const Tile& tile, uint32_t group) {
  return endsAt(tile, group) ? static_cast<uint32_t>(tile.lastRows >> 4 * group & 15) + 1 : kGroupRows;
}
/** Whether the last protein continues in the next tile. */
GLOAMING_BOTH bool isOpen(const Tile& tile) { return !endsAt(tile, tile.groupCount - 1); }

/* Iterates over a chunk tile by tile. */
class TileWalk {
 public:
  GLOAMING_BOTH TileWalk(const TargetList& targets, const Chunk& chunk)
      : targets_(targets), item_(chunk.firstItem), endItem_(chunk.endItem), passed_(chunk.firstGroup) {
    enter();
  }

  /* Returns the next tile; it has no groups at the end of the chunk.
   * Calls  place(n, group): group n of the tile is that group of the device's tokens */
  template <uint32_t kGroups, class Place>
  GLOAMING_BOTH Tile next(Place place) {
    Tile tile{0, 0, 0, item_, isInside_, passed_};
    GLOAMING_UNROLL
    for (uint32_t n = 0; n < kGroups; ++n) {
      if (item_ < endItem_) {
        place(n, group_);
        ++tile.groupCount;
        ++group_;
        isInside_ = true;
        if (--groupsLeft_ == 0) {
          tile.ends |= 1u << n;
          tile.lastRows |= static_cast<uint64_t>((length_ - 1) % kGroupRows) << 4 * n;
          ++item_;
          enter();
        }
      }
    }
    passed_ += tile.groupCount;
    return tile;
  }

 private:
  GLOAMING_BOTH void enter() {
    isInside_ = false;
    if (item_ >= endItem_) return;
    const uint32_t target = targets_.eligible == nullptr ? item_ : targets_.eligible[item_];
    group_ = targets_.firstGroups[target];
    length_ = targets_.lengths[target];
    groupsLeft_ = groupsOf(length_);
  }

  const TargetList& targets_;
  uint32_t item_, endItem_, passed_;
  uint32_t group_ = 0, length_ = 1, groupsLeft_ = 0;
  bool isInside_ = false;
};

}  // namespace cuda
}  // namespace gloaming

#endif
