/* Affine scores of a query with listed targets, and both sums of MaxSim from the same dot products. The CUDA kernels
 * and their emulation on the CPU share this code. reference/affine.cpp defines the results.
 *
 *   team       a warp, which processes one target after the other, the longest first
 *   strip      32 × laneRows neighbouring query rows, laneRows of them in each lane, whose tokens stay in registers
 *   wavefront  in a step, lane l is at target row step − l. H, F and the best dot product of the target row so far go
 *              down the query: each lane passes them to the next lane, which reaches the row one step later
 *   edge       output of the last row of a strip, in global memory until the next strip reads it
 *   panel      the strips of one launch: a giant pair takes several, so that a cancelled search ends soon
 *
 * A team offers (see affine_warp.h and test/emulated_warp.h):
 *
 *     each(f)                  f(number, lane) in each lane
 *     handDown()               each lane's `above` becomes the `below` of the lane before; lane 0's is undefined
 *     meet()                   makes each lane's writes to global memory visible to all lanes
 *     table()                  [kAffineLetters × 32] words, a column for each lane
 *     largest(f) sum(f)        over f(lane) of all lanes
 *     once(f)                  f() in one lane
 *     nextItem(launch)         the next unclaimed item
 *
 * Scores   32 bits hold them (kernels.h), so nothing saturates. E and F begin at −gapOpen, as in the reference: H is
 *          never below 0, so an opening is at least as good
 * Padding  query rows beyond the end repeat the last one, which does not change best dot products of target rows. Their
 *          base is so low that none of their pairs is a best one
 * Limit    the multiply-adds if there are targets for all warps; else the longest target, because a warp computes at
 *          most half a cell a clock, and only one warp works on a target */
#ifndef GLOAMING_CUDA_AFFINE_H
#define GLOAMING_CUDA_AFFINE_H

#include "cuda/layout.h"

#if !defined(__CUDACC__)
#include <cstring>
#endif

namespace gloaming {
namespace cuda {

constexpr uint32_t kWarpLanes = 32;
constexpr uint32_t kAffineLetters = 32;
/** Shared memory of a team, and of its block: blocks of one warp spread evenly. */
constexpr uint32_t kAffineShared = kAffineLetters * kWarpLanes * sizeof(uint32_t);
/** Below every dot product. */
constexpr int32_t kLeastDot = -32'768;
/** A base that exceeds, in magnitude, any score that a pair can add to H. */
constexpr int32_t kNoPair = 1 << 30;

/** Query rows of a lane: with their tokens, 128 registers at most; with the scores of a letter, one. */
GLOAMING_BOTH constexpr uint32_t laneRows(uint32_t dimension) { return dimension <= 128 ? 4 : 2; }
GLOAMING_BOTH constexpr uint32_t stripRows(uint32_t dimension) { return kWarpLanes * laneRows(dimension); }
GLOAMING_BOTH constexpr uint32_t stripsOf(uint32_t rows, uint32_t dimension) {
  return (rows + stripRows(dimension) - 1) / stripRows(dimension);
}

/** Offset of a byte of a query row: neighbouring lanes read neighbouring pieces of 16 bytes. */
GLOAMING_BOTH size_t affineQueryOffset(uint32_t row, uint32_t byte, uint32_t dimension) {
  const uint32_t rows = laneRows(dimension), lane = row / rows % kWarpLanes;
  const size_t laneRow = size_t{row / stripRows(dimension)} * rows + row % rows;
  return ((laneRow * (dimension / 16) + byte / 16) * kWarpLanes + lane) * 16 + byte % 16;
}
/** Offset of the score of a query row with a target letter: one table for each strip. */
GLOAMING_BOTH size_t affineLetterOffset(uint32_t row, uint32_t letter, uint32_t dimension) {
  const uint32_t rows = laneRows(dimension), lane = row / rows % kWarpLanes;
  return ((size_t{row / stripRows(dimension)} * kAffineLetters + letter) * kWarpLanes + lane) * 4 + row % rows;
}

/** The values that go down the query at one target row. */
struct alignas(16) Edge {
  /** H of the last query row; F of the next one; the best dot product so far. */
  int32_t H, F, nearest;
};

/** Number of a listed target on its GPU, and the rows of the targets before it in the launch. */
struct AffineItem {
  uint32_t target, firstColumn;
};

/** Parameters of a launch; passed by value. */
struct AffineLaunch {
  const uint8_t* tokens;
  const uint32_t* firstGroups;
  const uint32_t* lengths;
  /** The longest first. */
  const AffineItem* items;
  uint32_t itemCount;
  /** Zero at the start of the launch. */
  uint32_t* takenItems;

  /** As affineQueryOffset and affineLetterOffset say, whole strips. */
  const uint8_t* query;
  const uint32_t* letterScores;
  uint32_t queryLength;
  /** The panel. */
  uint32_t firstStrip, endStrip;
  int32_t multiplier, offset, gapOpen, gapExtend;

  /** By firstColumn, one for each target row: below 32, null where letters score nothing. */
  const uint8_t* letters;
  /** By firstColumn, one for each target row; not read if the query is one strip. */
  Edge* edges;

  /** [itemCount], in the order of the items; zero before the first panel, complete after the last. */
  int32_t* scores;
  int32_t* queryToTarget;
  int32_t* targetToQuery;
};

/** Σ of the products of four bytes. */
GLOAMING_TEAM int32_t addProducts(uint32_t a, uint32_t b, int32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(static_cast<int32_t>(a), static_cast<int32_t>(b), sum);
#else
  for (uint32_t k = 0; k < 32; k += 8) sum += static_cast<int8_t>(a >> k & 255) * static_cast<int8_t>(b >> k & 255);
  return sum;
#endif
}

struct Quads {
  uint32_t words[4];
};
/** 16 bytes of read-only memory. */
GLOAMING_TEAM Quads loadQuads(const uint8_t* from) {
#if defined(__CUDA_ARCH__)
  const uint4 quads = __ldg(reinterpret_cast<const uint4*>(from));
  return {quads.x, quads.y, quads.z, quads.w};
#else
  Quads quads;
  std::memcpy(&quads, from, sizeof quads);
  return quads;
#endif
}

GLOAMING_TEAM int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

/** State of a lane for the current target. */
struct Passing {
  const uint8_t* tokens;
  const uint8_t* letters;
  Edge* edges;
  uint32_t columns;
};

struct Strip {
  uint32_t number, lastLane;
  bool isFirst, isLast;
};

template <uint32_t kDimension>
struct AffineLane {
  static constexpr uint32_t kRows = laneRows(kDimension);
  uint32_t query[kRows][kDimension / 4];
  /** Base of each row; H and E of the last column; the best dot products. */
  int32_t base[kRows], H[kRows], E[kRows], nearest[kRows];
  /** H of the row above in the column before. */
  int32_t diagonal;
  /** Input from the lane before, output for the next lane, next input of lane 0. */
  Edge above, below, ahead;
  int32_t best = 0, rowSum = 0, columnSum = 0;

  static GLOAMING_TEAM uint32_t rowOf(const Strip& strip, uint32_t number, uint32_t r) {
    return strip.number * stripRows(kDimension) + number * kRows + r;
  }

  GLOAMING_TEAM void enter(uint32_t number, const Strip& strip, const AffineLaunch& launch, const Passing& target,
                           uint32_t* table) {
    GLOAMING_UNROLL
    for (uint32_t r = 0; r < kRows; ++r) {
      const uint32_t row = rowOf(strip, number, r);
      GLOAMING_UNROLL
      for (uint32_t byte = 0; byte < kDimension; byte += 16) {
        const Quads quads = loadQuads(launch.query + affineQueryOffset(row, byte, kDimension));
        GLOAMING_UNROLL
        for (uint32_t k = 0; k < 4; ++k) query[r][byte / 4 + k] = quads.words[k];
      }
      base[r] = -launch.offset - (row < launch.queryLength ? 0 : kNoPair);
      H[r] = 0;
      E[r] = -launch.gapOpen;
      nearest[r] = kLeastDot;
    }
    const uint32_t* scores = launch.letterScores + size_t{strip.number} * kAffineLetters * kWarpLanes;
    for (uint32_t k = number; k < kAffineLetters * kWarpLanes; k += kWarpLanes) table[k] = scores[k];
    diagonal = 0;
    ahead = strip.isFirst ? Edge{0, -launch.gapOpen, kLeastDot} : target.edges[0];
  }

  GLOAMING_TEAM void step(uint32_t number, uint32_t column, const Strip& strip, const AffineLaunch& launch,
                          const Passing& target, const uint32_t* table) {
    const uint32_t letter = target.letters == nullptr ? 0 : target.letters[column];
    const uint32_t letterScores = table[letter * kWarpLanes + number];
    if (number == 0) {
      above = ahead;
      // The edge is written a strip's width behind the place where it is read, so one buffer suffices.
      if (!strip.isFirst && column + 1 < target.columns) ahead = target.edges[column + 1];
    }
    int32_t dots[kRows] = {};
    const uint8_t* row = target.tokens + coreOffset(column, 0, kDimension);
    GLOAMING_UNROLL
    for (uint32_t chunk = 0; chunk < kDimension / 16; ++chunk) {
      const Quads quads = loadQuads(row + chunk * kCoreBytes);
      GLOAMING_UNROLL
      for (uint32_t r = 0; r < kRows; ++r) {
        GLOAMING_UNROLL
        for (uint32_t k = 0; k < 4; ++k) dots[r] = addProducts(query[r][4 * chunk + k], quads.words[k], dots[r]);
      }
    }
    int32_t before = diagonal, F = above.F, columnNearest = above.nearest;
    diagonal = above.H;
    GLOAMING_UNROLL
    for (uint32_t r = 0; r < kRows; ++r) {
      const int32_t letters = static_cast<int8_t>(letterScores >> 8 * r & 255);
      const int32_t pair = before + (dots[r] * launch.multiplier >> 16) + letters + base[r];
      before = H[r];
      H[r] = larger(larger(pair, E[r]), larger(F, 0));
      best = larger(best, pair);
      E[r] = larger(H[r] - launch.gapOpen, E[r] - launch.gapExtend);
      F = larger(H[r] - launch.gapOpen, F - launch.gapExtend);
      nearest[r] = larger(nearest[r], dots[r]);
      columnNearest = larger(columnNearest, dots[r]);
    }
    below = {H[kRows - 1], F, columnNearest};
    if (number != strip.lastLane) return;
    if (strip.isLast) columnSum += columnNearest;
    else target.edges[column] = below;
  }

  GLOAMING_TEAM void leave(uint32_t number, const Strip& strip, const AffineLaunch& launch) {
    GLOAMING_UNROLL
    for (uint32_t r = 0; r < kRows; ++r) {
      if (rowOf(strip, number, r) < launch.queryLength) rowSum += nearest[r];
    }
  }
};

template <uint32_t kDimension, class Team>
GLOAMING_TEAM void passStrip(Team& team, const AffineLaunch& launch, const Passing& target, const Strip& strip) {
  using Lane = AffineLane<kDimension>;
  team.each([&](uint32_t number, Lane& lane) { lane.enter(number, strip, launch, target, team.table()); });
  for (uint32_t step = 0; step < target.columns + strip.lastLane; ++step) {
    team.handDown();
    team.each([&](uint32_t number, Lane& lane) {
      const uint32_t column = step - number;
      // Also false if the lane has not reached the first row.
      if (column < target.columns) lane.step(number, column, strip, launch, target, team.table());
    });
  }
  team.each([&](uint32_t number, Lane& lane) { lane.leave(number, strip, launch); });
  team.meet();
}

template <uint32_t kDimension, class Team>
GLOAMING_TEAM void scoreItem(Team& team, const AffineLaunch& launch, uint32_t item) {
  using Lane = AffineLane<kDimension>;
  const AffineItem listed = launch.items[item];
  const Passing target{launch.tokens + size_t{launch.firstGroups[listed.target]} * groupBytes(kDimension),
                       launch.letters == nullptr ? nullptr : launch.letters + listed.firstColumn,
                       launch.edges + listed.firstColumn, launch.lengths[listed.target]};
  team.each([](uint32_t, Lane& lane) { lane.best = lane.rowSum = lane.columnSum = 0; });
  const uint32_t strips = stripsOf(launch.queryLength, kDimension);
  for (uint32_t s = launch.firstStrip; s < launch.endStrip; ++s) {
    const uint32_t rowsLeft = launch.queryLength - s * stripRows(kDimension);
    const uint32_t last = rowsLeft < stripRows(kDimension) ? (rowsLeft - 1) / laneRows(kDimension) : kWarpLanes - 1;
    passStrip<kDimension>(team, launch, target, {s, last, s == 0, s + 1 == strips});
  }
  const int32_t best = team.largest([](const Lane& lane) { return lane.best; });
  const int32_t rowSum = team.sum([](const Lane& lane) { return lane.rowSum; });
  const int32_t columnSum = team.sum([](const Lane& lane) { return lane.columnSum; });
  // One team owns an item, and panels run in successive launches, so no atomic is needed.
  team.once([&] {
    launch.scores[item] = larger(launch.scores[item], best);
    launch.queryToTarget[item] += rowSum;
    launch.targetToQuery[item] += columnSum;
  });
}

/* Processes items until there are none. */
template <uint32_t kDimension, class Team>
GLOAMING_TEAM void scoreItems(Team& team, const AffineLaunch& launch) {
  for (uint32_t item = team.nextItem(launch); item < launch.itemCount; item = team.nextItem(launch)) {
    scoreItem<kDimension>(team, launch, item);
  }
}

}  // namespace cuda
}  // namespace gloaming

#endif
