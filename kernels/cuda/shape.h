/* Sizes of a launch, and the layout of a block's shared memory; shared by kernels and host. */
#ifndef GLOAMING_CUDA_SHAPE_H
#define GLOAMING_CUDA_SHAPE_H

#include "cuda/layout.h"

namespace gloaming {
namespace cuda {

/** Most queries of a launch. */
constexpr uint32_t kMaxLaunchQueries = 16;
/** Tiles of targets in a warpgroup's shared memory: the current one and the next. */
constexpr uint32_t kStages = 2;

enum class Variant : uint32_t { kPortable, kHopper };

/** One block per multiprocessor, so that all its teams share one copy of the query. */
struct Shape {
  uint32_t lanes;
  /** Groups of eight target rows in a tile. */
  uint32_t groups;
  uint32_t teams;

  GLOAMING_BOTH constexpr uint32_t queryRows() const { return lanes / 2; }
  GLOAMING_BOTH constexpr uint32_t threads() const { return lanes * teams; }
};

/* Chosen for registers: a warp keeps its tile of targets in them, a warpgroup its dot products. */
GLOAMING_BOTH constexpr Shape shapeOf(Variant variant, uint32_t dimension) {
  return variant == Variant::kPortable ? Shape{32, 8, dimension <= 128 ? 12u : 8u}
                                       : Shape{128, dimension <= 128 ? 16u : 8u, 3};
}

/** Offsets in bytes. Each part of the first team is followed by the same part of every other team. */
struct SharedPlan {
  uint32_t stages, exchange, exchangeBytes, closest, closestBytes, sums, sumsBytes, slots, barriers, bytes;
};

GLOAMING_BOTH constexpr SharedPlan planShared(Variant variant, uint32_t dimension, uint32_t queryTiles) {
  const Shape shape = shapeOf(variant, dimension);
  const uint32_t warps = shape.lanes / 32;
  const bool isHopper = variant == Variant::kHopper;
  SharedPlan plan{};
  plan.stages = queryTiles * shape.queryRows() * dimension;
  plan.exchange = plan.stages + (isHopper ? shape.teams * kStages * shape.groups * groupBytes(dimension) : 0);
  // Two alternating areas, with one word per pair of target rows and warp.
  plan.exchangeBytes = isHopper ? 2 * warps * shape.groups * 4 * 4 : 0;
  plan.closest = plan.exchange + shape.teams * plan.exchangeBytes;
  plan.closestBytes = queryTiles * warps * 8 * 4;
  plan.sums = plan.closest + shape.teams * plan.closestBytes;
  plan.sumsBytes = warps * kMaxLaunchQueries * 4;
  plan.slots = plan.sums + shape.teams * plan.sumsBytes;
  plan.barriers = plan.slots + (isHopper ? shape.teams * 16 : 0);
  plan.bytes = plan.barriers + (isHopper ? shape.teams * kStages * 8 : 0);
  return plan;
}

/** Tiles of query rows that fit beside the rest; 0 if none does. */
GLOAMING_BOTH constexpr uint32_t queryTilesThatFit(Variant variant, uint32_t dimension, uint32_t sharedBytes) {
  const uint32_t none = planShared(variant, dimension, 0).bytes;
  const uint32_t each = planShared(variant, dimension, 1).bytes - none;
  return none > sharedBytes ? 0 : (sharedBytes - none) / each;
}

}  // namespace cuda
}  // namespace gloaming

#endif
