/* Affine scores of several targets at once, one per 16-bit lane, for any vector type. reference/affine.cpp defines the
 * results.
 *
 *   column  one residue of each target, packed by quads (kernels.h). A tile multiplies it with eight query rows. With
 *           AVX2, few bytes of these are extra quads (avx2/bytes.h). Profiles that score have columns of the same shape
 *   base    score of the letters of a pair, less the offset
 *   cells   run down the query within a column. H and E of the column before lie in memory, F and H(i−1,j−1) in
 *           registers. No lane reads another lane
 *   lanes   each process a queue of targets. When a target ends, the cells of its lane are reset to 0. A lane with an
 *           empty queue repeats one residue, and its results are masked out
 *   sums    of MaxSim, on request: each dot product is computed once and fits in 16 bits. The best of a column stays
 *           in a register, the best of each query residue in memory, one per lane
 *   profile scores (profile_score.h), on request, read neither tokens nor letters; R of the column before is in memory
 *
 * Limit    the multiply-adds. With AVX-512, 32 cells take dimension ÷ 2 multiply-adds, on two pipes of a core, and a
 *          dozen other instructions on its other pipes. Profiles add ten multiply-adds and eight others.
 * Scores   Unsigned subtraction keeps E and F at 0 or more. Lower values never matter, so H ≥ 0 needs no maximum. Only
 *          s and H(i−1,j−1) + s can leave 16 bits, and they saturate. If s is below −32,768, no pair starts or
 *          continues in either arithmetic. affineScore repeats a target whose best is the largest score. As gapOpen ≥
 *          gapExtend, a path may take its deletion before its insertion, so E opens from H without F.
 * Memory   two vectors per query residue, three with the sums
 * Traits   Lanes is a class such as those of avx512/affine_batch.cpp. As in wavefront.h, everything is internal to the
 *          including file.
 */
#ifndef GLOAMING_BATCH_H
#define GLOAMING_BATCH_H

#include <algorithm>
#include <cstring>

#include "batch_query.h"
#include "kernels.h"
#include "profile_score.h"
#include "skew.h"
#include "engine/workspace.h"

namespace gloaming {
namespace {

/** Query residues between two checks of the cancel flag: 2^17 cells of 32 lanes. */
constexpr uint32_t kCancelStep = 4'096;

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

/** What a batch computes for each target. */
enum class BatchWork { kScores, kMeasures, kProfiles };

/** Eight residues of a query. The tile before has computed their products with the column, without the base. */
template <class Lanes>
struct Tile {
  /** [kTileRows × lanes] */
  int16_t* products;
  BatchCell<Lanes>* cells;
  const uint8_t* letters;
  const int16_t* bases;
  /** [kTileRows × lanes]: best dot product so far of each residue of the next tile; null without sums. */
  int16_t* closest;
};

/* Computes cells from their substitution scores. */
template <class Lanes>
GLOAMING_INLINE void advance(Front<Lanes>& at, BatchCell<Lanes>& cell, const Column<Lanes>& column,
                             typename Lanes::Vector substitution) {
  const auto pair = Lanes::add(at.diagonal, substitution);
  const auto withoutF = Lanes::max(pair, cell.E), opened = Lanes::subtractToZero(withoutF, column.gapOpen);
  at.diagonal = cell.H;
  at.best = Lanes::max(at.best, pair);
  cell.H = Lanes::max(withoutF, at.F);
  cell.E = Lanes::max(Lanes::subtractToZero(cell.E, column.gapExtend), opened);
  at.F = Lanes::max(Lanes::subtractToZero(at.F, column.gapExtend), opened);
}

/* Computes the cells of residue r of the tile. */
template <class Lanes>
GLOAMING_INLINE void advance(Front<Lanes>& at, const Tile<Lanes>& tile, const Column<Lanes>& column, uint32_t r) {
  const auto base = Lanes::baseOf(tile.bases, tile.letters[r], column.letters);
  advance(at, tile.cells[r], column, Lanes::add(base, Lanes::load(tile.products + r * Lanes::lanes)));
}

/* Computes cells of a profile score from s(i,j). `support` has R(i,j−1), and gets R(i,j) (profile_score.h). */
template <class Lanes>
GLOAMING_INLINE void advanceProfiles(Front<Lanes>& at, BatchCell<Lanes>& cell, const Column<Lanes>& column,
                                     typename Lanes::Vector scores, typename Lanes::Vector& support) {
  const auto bounded = Lanes::max(scores, Lanes::broadcast(kLeastSupport));
  const auto before = at.support;
  const auto supported = Lanes::multiplyHigh(Lanes::template shiftLeft<kPartnerShift>(bounded), before);
  advance(at, cell, column, Lanes::add(scores, supported));
  at.support = support;
  const auto decayed = Lanes::subtract(before, Lanes::template shiftRight<kDecayShift>(before));
  support = Lanes::add(decayed, Lanes::template shiftLeft<kSupportShift>(bounded));
}

template <class Lanes, BatchWork kWork>
class Batch {
  using Vector = typename Lanes::Vector;
  static constexpr uint32_t lanes = Lanes::lanes, kNone = UINT32_MAX;
  static constexpr bool kMeasures = kWork == BatchWork::kMeasures, kProfiles = kWork == BatchWork::kProfiles;

 public:
  /* tasks: of one query. packed: written by BatchQuery::pack. scores [count]; sums [count], with kMeasures.
   * affineScore: of the same table, for targets whose scores exceed 16 bits; null with kProfiles, whose scores do
   * not. */
  Batch(const AffineTask* tasks, uint32_t count, const void* packed, int32_t (*affineScore)(const AffineTask&),
        int32_t* scores, PairSums* sums)
      : tasks_(tasks), count_(count), query_(packed, tasks->query.tokens.length, tasks->query.tokens.dimension),
        length_(tasks->query.tokens.length), affineScore_(affineScore), scores_(scores), sums_(sums) {
    Workspace& workspace = tasks->workspace;
    next_ = static_cast<uint32_t*>(workspace.reserve(Workspace::kQueues, count * sizeof *next_));
    cells_ = static_cast<BatchCell<Lanes>*>(workspace.reserve(Workspace::kBoundaries, length_ * sizeof *cells_));
    if constexpr (kMeasures) {
      const size_t values = size_t{roundUp(length_, kTileRows)} * lanes;
      closest_ = static_cast<int16_t*>(workspace.reserve(Workspace::kClosest, values * sizeof *closest_));
      std::fill_n(closest_, values, INT16_MIN);
    }
    if constexpr (kProfiles) {
      supports_ = static_cast<Vector*>(workspace.reserve(Workspace::kClosest, length_ * sizeof *supports_));
      std::memset(static_cast<void*>(supports_), 0, length_ * sizeof *supports_);
    }
    queue();
  }

  /* Writes all scores and sums. If the task is cancelled, they are undefined. */
  void score() {
    const AffineParameters& parameters = tasks_->parameters;
    alignas(64) int8_t tokens[lanes * kMaxDimension];
    alignas(64) int8_t profiles[lanes * kProfileWidth];
    const bool hasProfiles = kProfiles || parameters.profileWeight != 0;
    Column<Lanes> column{tokens,
                         hasProfiles ? profiles : nullptr,
                         tasks_->query.tokens.dimension,
                         {},
                         Lanes::broadcast(parameters.multiplier),
                         Lanes::broadcast(kProfiles ? kProfileWeight : parameters.profileWeight),
                         Lanes::broadcast(kProfiles ? kProfileGapOpen : parameters.gapOpen),
                         Lanes::broadcast(kProfiles ? kProfileGapExtend : parameters.gapExtend)};
    std::memset(static_cast<void*>(cells_), 0, length_ * sizeof *cells_);
    Vector best = Lanes::zero();
    for (uint32_t j = 0; nextEnd_ != kNone; ++j) {
      alignas(64) uint16_t letters[lanes], active[lanes];
      for (uint32_t l = 0; l < lanes; ++l) letters[l] = *letters_[l];
      for (uint32_t l = 0; l < lanes; ++l) active[l] = j < ends_[l] ? UINT16_MAX : 0;
      if (hasProfiles) Lanes::packProfiles(profiles_, profiles);
      if constexpr (!kProfiles) {
        Lanes::packColumn(rows_, column.dimension, tokens);
        Lanes::placeLetters(letters, query_.bases, column.letters);
      }
      step(j);
      Front<Lanes> front{Lanes::zero(), Lanes::zero(), Lanes::zero(), Lanes::broadcast(INT16_MIN), Lanes::zero()};
      if (!(kProfiles ? sweepProfiles(column, front) : sweep(column, front))) break;
      best = Lanes::max(best, Lanes::both(front.best, Lanes::load(active)));
      if constexpr (kMeasures) {
        alignas(64) int16_t nearest[lanes];
        Lanes::store(nearest, Lanes::both(front.nearest, Lanes::load(active)));
        for (uint32_t l = 0; l < lanes; ++l) targetToQuery_[l] += nearest[l];
      }
      if (j + 1 == nextEnd_) best = turn(j + 1, best);
    }
    if constexpr (kProfiles) return;
    // Last, because affineScore reserves the same memory.
    for (uint32_t t = 0; t < count_; ++t) {
      if (scores_[t] == INT16_MAX) scores_[t] = affineScore_(tasks_[t]);
    }
  }

 private:
  /* Assigns each target to the lane with the fewest rows so far. Lanes end together if the longest targets come
   * first. */
  void queue() {
    uint64_t rows[lanes] = {};
    uint32_t last[lanes];
    for (uint32_t l = 0; l < lanes; ++l) {
      own_[l] = kNone;
      place(l, tasks_[0], 0);
    }
    for (uint32_t t = 0; t < count_; ++t) {
      uint32_t least = 0;
      for (uint32_t l = 1; l < lanes; ++l) least = rows[l] < rows[least] ? l : least;
      if (own_[least] != kNone) {
        next_[last[least]] = t;
      } else {
        own_[least] = t;
        place(least, tasks_[t], tasks_[t].targetLength);
      }
      rows[least] += tasks_[t].targetLength;
      last[least] = t;
      next_[t] = kNone;
    }
    findNextEnd();
  }

  void place(uint32_t lane, const AffineTask& task, uint32_t end) {
    rows_[lane] = task.target;
    letters_[lane] = task.letters.target;
    profiles_[lane] = task.profiles.target;
    ends_[lane] = end;
  }

  void findNextEnd() {
    nextEnd_ = kNone;
    for (uint32_t l = 0; l < lanes; ++l) {
      if (own_[l] != kNone && ends_[l] < nextEnd_) nextEnd_ = ends_[l];
    }
  }

  /* Starts the next target of each lane whose target ends before column j, with cells of 0. Returns the best so far. */
  Vector turn(uint32_t j, Vector best) {
    alignas(64) int16_t bests[lanes];
    alignas(64) uint16_t kept[lanes];
    Lanes::store(bests, best);
    for (uint32_t l = 0; l < lanes; ++l) {
      const bool ends = own_[l] != kNone && ends_[l] == j;
      kept[l] = ends ? 0 : UINT16_MAX;
      if (!ends) continue;
      finish(l, bests[l]);
      bests[l] = 0;
      own_[l] = next_[own_[l]];
      if (own_[l] != kNone) place(l, tasks_[own_[l]], j + tasks_[own_[l]].targetLength);
    }
    findNextEnd();
    const Vector mask = Lanes::load(kept);
    for (uint32_t i = 0; i < length_; ++i) {
      cells_[i].H = Lanes::both(cells_[i].H, mask);
      cells_[i].E = Lanes::both(cells_[i].E, mask);
      if constexpr (kProfiles) supports_[i] = Lanes::both(supports_[i], mask);
    }
    return Lanes::load(bests);
  }

  void finish(uint32_t lane, int16_t best) {
    const uint32_t t = own_[lane];
    scores_[t] = best;
    if constexpr (kMeasures) {
      int32_t queryToTarget = 0;
      for (uint32_t i = 0; i < length_; ++i) {
        int16_t& closest = closest_[size_t{i} * lanes + lane];
        queryToTarget += closest;
        closest = INT16_MIN;
      }
      sums_[t] = {queryToTarget, targetToQuery_[lane]};
      targetToQuery_[lane] = 0;
    }
  }

  /* Advances each lane to the row after j if its target has one. */
  void step(uint32_t j) {
    for (uint32_t l = 0; l < lanes; ++l) {
      const int64_t goesOn = -int64_t{j + 1 < ends_[l]};
      rows_[l] += goesOn & tasks_->query.tokens.dimension;
      letters_[l] -= goesOn;
      // Null without profiles.
      profiles_[l] += profiles_[l] == nullptr ? 0 : goesOn & kProfileWidth;
    }
  }

  /* Computes all cells of a column. Returns false if the task was cancelled. */
  bool sweep(const Column<Lanes>& column, Front<Lanes>& front) {
    alignas(64) int16_t products[kTileRows * lanes];
    Tile<Lanes> tile{products, cells_, tasks_->letters.query, query_.bases, closest_};
    Lanes::template multiply<kMeasures>(front, tile, column, query_, 0);
    if (column.profiles != nullptr) Lanes::addProfiles(column, query_.profile, products);
    uint32_t i = kTileRows;
    for (; i < length_; i += kTileRows) {
      if (i % kCancelStep == 0 && tasks_->cancelled.load(std::memory_order_relaxed)) return false;
      if constexpr (kMeasures) tile.closest += kTileRows * lanes;
      Lanes::template advanceAndMultiply<kMeasures>(front, tile, column, query_, i);
      if (column.profiles != nullptr) Lanes::addProfiles(column, query_.profile + size_t{i} * kProfileWidth, products);
      tile.cells += kTileRows;
      tile.letters += kTileRows;
    }
    const uint32_t left = length_ + kTileRows - i;
    for (uint32_t r = 0; r < left; ++r) advance(front, tile, column, r);
    return !tasks_->cancelled.load(std::memory_order_relaxed);
  }

  /* The same for profile scores. */
  bool sweepProfiles(const Column<Lanes>& column, Front<Lanes>& front) {
    alignas(64) int16_t scores[kTileRows * lanes];
    const Vector offset = Lanes::broadcast(-kProfileOffset);
    for (uint32_t i = 0; i < length_; i += kTileRows) {
      if (i % kCancelStep == 0 && tasks_->cancelled.load(std::memory_order_relaxed)) return false;
      for (uint32_t r = 0; r < kTileRows; ++r) Lanes::store(scores + r * lanes, offset);
      Lanes::addProfiles(column, query_.profile + size_t{i} * kProfileWidth, scores);
      const uint32_t rows = std::min(kTileRows, length_ - i);
      for (uint32_t r = 0; r < rows; ++r) {
        advanceProfiles(front, cells_[i + r], column, Lanes::load(scores + r * lanes), supports_[i + r]);
      }
    }
    return !tasks_->cancelled.load(std::memory_order_relaxed);
  }

  const AffineTask* tasks_;
  const uint32_t count_;
  const BatchQuery<Lanes> query_;
  const uint32_t length_;
  int32_t (*const affineScore_)(const AffineTask&);
  int32_t* scores_;
  PairSums* sums_;
  /** Successor of each target in the queue of its lane. */
  uint32_t* next_;
  /** Current target of each lane, its position, and its end column; nextEnd_ is the smallest end column. */
  uint32_t own_[lanes];
  const int8_t* rows_[lanes];
  const uint8_t* letters_[lanes];
  const int8_t* profiles_[lanes];
  uint32_t ends_[lanes], nextEnd_ = kNone;
  int32_t targetToQuery_[lanes] = {};
  BatchCell<Lanes>* cells_;
  int16_t* closest_ = nullptr;
  /** Support of each query residue, for the next column. */
  Vector* supports_ = nullptr;
};

/* The batch's part of a packed query, which follows the part of wavefront.h. */
inline const uint8_t* batchPart(const PackedQuery& query, size_t (*wavefrontBytes)(uint32_t, uint32_t)) {
  return static_cast<const uint8_t*>(query.packed) + wavefrontBytes(query.tokens.length, query.tokens.dimension);
}

/* The affineScores of a kernel table, for many targets. It uses affineScore of the same table for single targets. */
template <class Lanes>
void scoreBatch(const AffineTask* tasks, uint32_t count, size_t (*wavefrontBytes)(uint32_t, uint32_t),
                int32_t (*affineScore)(const AffineTask&), int32_t* scores) {
  const uint8_t* packed = batchPart(tasks[0].query, wavefrontBytes);
  Batch<Lanes, BatchWork::kScores>(tasks, count, packed, affineScore, scores, nullptr).score();
}

/* A table's affineMeasures, likewise. */
template <class Lanes>
void measureBatch(const AffineTask* tasks, uint32_t count, size_t (*wavefrontBytes)(uint32_t, uint32_t),
                  int32_t (*affineScore)(const AffineTask&), int32_t* scores, PairSums* sums) {
  const uint8_t* packed = batchPart(tasks[0].query, wavefrontBytes);
  Batch<Lanes, BatchWork::kMeasures>(tasks, count, packed, affineScore, scores, sums).score();
}

/* A table's profileScores, likewise. */
template <class Lanes>
void profileBatch(const AffineTask* tasks, uint32_t count, size_t (*wavefrontBytes)(uint32_t, uint32_t),
                  int32_t* scores) {
  const uint8_t* packed = batchPart(tasks[0].query, wavefrontBytes);
  Batch<Lanes, BatchWork::kProfiles>(tasks, count, packed, nullptr, scores, nullptr).score();
}

}  // namespace
}  // namespace gloaming

#endif
