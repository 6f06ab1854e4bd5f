/* The cells of batch.h: one residue of a query with one residue of each target. */
#ifndef GLOAMING_BATCH_CELLS_H
#define GLOAMING_BATCH_CELLS_H

#include <algorithm>

#include "batch_query.h"
#include "kernels.h"
#include "profile_score.h"
#include "skew.h"

namespace gloaming {
namespace {

/** Query residues between two checks of the cancel flag: 2^17 cells of 32 lanes. */
constexpr uint32_t kCancelStep = 4'096;

/** Range of L (kernels.h). */
constexpr int32_t kLeastProfileLog = -1'024, kMostProfileLog = 14'336;

/** Values that all cells of a column share. */
template <class Lanes>
struct Column {
  /** [dimension × lanes], written by packColumn. */
  const int8_t* tokens;
  /** [kProfileWidth × lanes], written by packProfiles; null where profiles score nothing. */
  const int8_t* profiles;
  uint32_t dimension;
  typename Lanes::Letters letters;
  typename Lanes::Vector multiplier, profileWeight, gapOpen, gapExtend;
};

/** H and E of one query residue, for the next column. */
template <class Lanes>
struct BatchCell {
  typename Lanes::Vector H, E;
};

/** State of a column: F and H(i−1,j−1) of the next cell, the best pair and the best dot product so far. Profile scores
 * also have the support R(i−1,j−1) of the next cell. */
template <class Lanes>
struct Front {
  typename Lanes::Vector F, diagonal, best, nearest, support;
};

/** What a sweep reads and writes for each query residue. */
template <class Lanes>
struct QueryCells {
  const BatchQuery<Lanes>& query;
  BatchCell<Lanes>* cells;
  const uint8_t* letters;
  /** [paddedLength × lanes]: best dot product so far of each residue; null without sums. */
  int16_t* closest;
  uint32_t length;
  const std::atomic<bool>& cancelled;
};

/* Scores below this are exact: no H(i−1,j−1) + s(i,j) of such a target leaves 16 bits. 0 where s may leave them. */
inline int32_t exactScores(const AffineParameters& parameters) {
  const auto scale = [](int32_t value, int32_t factor) { return (value * factor) >> 16; };
  const int32_t letters = parameters.letterScores == nullptr ? 0 : INT8_MAX;
  const int32_t most = scale(INT16_MAX, parameters.multiplier) - parameters.offset + letters +
                       scale(kMostProfileLog, parameters.profileWeight);
  const int32_t least = scale(-INT16_MAX, parameters.multiplier) - parameters.offset - letters +
                        scale(kLeastProfileLog, parameters.profileWeight);
  return least < INT16_MIN ? 0 : INT16_MAX + 1 - std::max(most, 0);
}

/* Computes cells from H(i−1,j−1) + s(i,j). */
template <class Lanes>
GLOAMING_INLINE void advance(Front<Lanes>& at, BatchCell<Lanes>& cell, const Column<Lanes>& column,
                             typename Lanes::Vector pair) {
  const auto E = cell.E, withoutF = Lanes::max(pair, E), opened = Lanes::subtractToZero(withoutF, column.gapOpen);
  at.diagonal = cell.H;
  at.best = Lanes::max(at.best, pair);
  cell.H = Lanes::max(withoutF, at.F);
  cell.E = Lanes::max(Lanes::subtract(E, column.gapExtend), opened);
  at.F = Lanes::max(Lanes::subtract(at.F, column.gapExtend), opened);
}

/* Computes cells of a profile score from s(i,j). `support` has R(i,j−1), and gets R(i,j) (profile_score.h). */
template <class Lanes>
GLOAMING_INLINE void advanceProfiles(Front<Lanes>& at, BatchCell<Lanes>& cell, const Column<Lanes>& column,
                                     typename Lanes::Vector scores, typename Lanes::Vector& support) {
  const auto bounded = Lanes::max(scores, Lanes::broadcast(kLeastSupport));
  const auto before = at.support;
  const auto supported = Lanes::multiplyHigh(Lanes::template shiftLeft<kPartnerShift>(bounded), before);
  advance(at, cell, column, Lanes::addSaturated(at.diagonal, Lanes::add(scores, supported)));
  at.support = support;
  const auto decayed = Lanes::subtract(before, Lanes::template shiftRight<kDecayShift>(before));
  support = Lanes::add(decayed, Lanes::template shiftLeft<kSupportShift>(bounded));
}

}  // namespace
}  // namespace gloaming

#endif
