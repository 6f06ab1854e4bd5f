/* Sizes of a launch, shared by kernels and host. */
#ifndef GLOAMING_CUDA_SHAPE_H
#define GLOAMING_CUDA_SHAPE_H

#include "cuda/layout.h"

namespace gloaming {
namespace cuda {

enum class Variant : uint32_t { kPortable, kHopper };

/** One block per multiprocessor, so that all its warps share one copy of the query. */
struct Shape {
  uint32_t warps;
  /** Slabs of 16 target rows that a warp compares at once. */
  uint32_t slabs;
  /** Groups of eight query rows that it multiplies at once. */
  uint32_t tileGroups;
  /** Tiles of a panel: the query rows of a launch, whose maxima a warp keeps in registers. */
  uint32_t panelTiles;

  GLOAMING_BOTH constexpr uint32_t threads() const { return warps * 32; }
  GLOAMING_BOTH constexpr uint32_t tileRows() const { return tileGroups * kGroupRows; }
  GLOAMING_BOTH constexpr uint32_t panelGroups() const { return panelTiles * tileGroups; }
};

/* Chosen for registers: a thread has 168 in a block of 12 warps. */
GLOAMING_BOTH constexpr Shape shapeOf(Variant variant, uint32_t dimension) {
  return variant == Variant::kPortable ? Shape{12, dimension <= 128 ? 2u : 1u, 4, 6}
                                       : Shape{12, dimension <= 128 ? 2u : 1u, 8, 5};
}

/** Query rows of a panel, rounded up to whole tiles. */
GLOAMING_BOTH constexpr uint32_t tilesOf(Variant variant, uint32_t dimension, uint32_t rows) {
  return (rows + shapeOf(variant, dimension).tileRows() - 1) / shapeOf(variant, dimension).tileRows();
}
/** Bytes of a packed panel, which each block copies to its shared memory. */
GLOAMING_BOTH constexpr uint32_t panelBytes(Variant variant, uint32_t dimension, uint32_t tiles) {
  return tiles * shapeOf(variant, dimension).tileRows() * dimension;
}

}  // namespace cuda
}  // namespace gloaming

#endif
