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
 * Limit    the multiply-adds, except with tiles (amx/columns.h). With AVX-512, 32 cells take dimension ÷ 2
 *          multiply-adds, on two pipes of a core, and a dozen other instructions on its other pipes. Profiles add ten
 *          multiply-adds and eight others.
 * Scores   A gap opens by unsigned subtraction, which keeps E and F at 0 or more. Lower values never matter, so H ≥ 0
 *          needs no maximum. Other sums wrap, because Intel's cores add twice as many vectors of 512 bits without
 *          saturation. Only s and H(i−1,j−1) + s can leave 16 bits. They do so in targets whose best is at least
 *          exactScores, which affineScore repeats. Profile scores saturate. As gapOpen ≥ gapExtend, a path may take its
 *          deletion before its insertion, so E opens from H without F.
 * Memory   two vectors per query residue, three with the sums
 * Traits   Lanes is a class such as those of avx512/affine_batch.cpp or amx/columns.h. Each column is packed before the
 *          cells of the column before it run, so that lanes may multiply it early; a Unit keeps what they need for
 *          that. As in wavefront.h, everything is internal to the including file.
 */
#ifndef GLOAMING_BATCH_H
#define GLOAMING_BATCH_H

#include <algorithm>
#include <cstring>

#include "batch_cells.h"
#include "batch_query.h"
#include "kernels.h"
#include "profile_score.h"
#include "engine/workspace.h"

namespace gloaming {
namespace {

/** What a batch computes for each target. */
enum class BatchWork { kScores, kMeasures, kProfiles };

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
      const size_t values = size_t{query_.paddedLength} * lanes;
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
    const bool hasProfiles = kProfiles || parameters.profileWeight != 0;
    Residue residues[2];
    for (Residue& residue : residues) {
      residue.column = Column<Lanes>{residue.tokens,
                                     hasProfiles ? residue.profiles : nullptr,
                                     tasks_->query.tokens.dimension,
                                     {},
                                     Lanes::broadcast(parameters.multiplier),
                                     Lanes::broadcast(kProfiles ? kProfileWeight : parameters.profileWeight),
                                     Lanes::broadcast(kProfiles ? kProfileGapOpen : parameters.gapOpen),
                                     Lanes::broadcast(kProfiles ? kProfileGapExtend : parameters.gapExtend)};
    }
    std::memset(static_cast<void*>(cells_), 0, length_ * sizeof *cells_);
    typename Lanes::Unit unit(tasks_->query.tokens.dimension);
    const QueryCells<Lanes> cells{query_, cells_, tasks_->letters.query, closest_, length_, tasks_->cancelled};
    Vector best = Lanes::zero();
    pack(0, residues[0]);
    if constexpr (!kProfiles) unit.begin(residues[0].column, query_);
    for (uint32_t j = 0; nextEnd_ != kNone; ++j) {
      const Residue &own = residues[j % 2], &next = residues[(j + 1) % 2];
      const bool ends = j + 1 == nextEnd_;
      step(j);
      if (ends) replace(j + 1);
      pack(j + 1, residues[(j + 1) % 2]);
      Front<Lanes> front{Lanes::zero(), Lanes::zero(), Lanes::zero(), Lanes::broadcast(INT16_MIN), Lanes::zero()};
      bool finishes;
      if constexpr (kProfiles) finishes = sweepProfiles(own.column, front);
      else finishes = Lanes::template sweep<kMeasures>(unit, front, own.column, next.column, cells);
      if (!finishes) return;
      const Vector active = Lanes::load(own.active);
      best = Lanes::max(best, Lanes::both(front.best, active));
      if constexpr (kMeasures) {
        alignas(64) int16_t nearest[lanes];
        Lanes::store(nearest, Lanes::both(front.nearest, active));
        for (uint32_t l = 0; l < lanes; ++l) targetToQuery_[l] += nearest[l];
      }
      if (ends) best = turn(best);
    }
    if constexpr (kProfiles) return;
    const int32_t exact = exactScores(parameters);
    // Last, because affineScore reserves the same memory.
    for (uint32_t t = 0; t < count_; ++t) {
      if (scores_[t] >= exact) scores_[t] = affineScore_(tasks_[t]);
    }
  }

 private:
  /** A residue of each target, and a mask of the lanes that have a target. */
  struct Residue {
    alignas(64) int8_t tokens[lanes * kMaxDimension];
    alignas(64) int8_t profiles[lanes * kProfileWidth];
    alignas(64) uint16_t active[lanes];
    Column<Lanes> column;
  };

  /* Packs column j. */
  void pack(uint32_t j, Residue& residue) {
    alignas(64) uint16_t letters[lanes];
    for (uint32_t l = 0; l < lanes; ++l) letters[l] = *letters_[l];
    for (uint32_t l = 0; l < lanes; ++l) residue.active[l] = j < ends_[l] ? UINT16_MAX : 0;
    if (residue.column.profiles != nullptr) Lanes::packProfiles(profiles_, residue.profiles);
    if constexpr (!kProfiles) {
      Lanes::packColumn(rows_, residue.column.dimension, residue.tokens);
      Lanes::placeLetters(letters, query_.bases, residue.column.letters);
    }
  }

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

  /* Starts the next target of each lane whose target ends before column j. */
  void replace(uint32_t j) {
    for (uint32_t l = 0; l < lanes; ++l) {
      const bool ends = own_[l] != kNone && ends_[l] == j;
      ended_[l] = ends ? own_[l] : kNone;
      if (!ends) continue;
      own_[l] = next_[own_[l]];
      if (own_[l] != kNone) place(l, tasks_[own_[l]], j + tasks_[own_[l]].targetLength);
    }
    findNextEnd();
  }

  /* Finishes the targets that have ended, and resets the cells of their lanes to 0. Returns the best so far. */
  Vector turn(Vector best) {
    alignas(64) int16_t bests[lanes];
    alignas(64) uint16_t kept[lanes];
    Lanes::store(bests, best);
    for (uint32_t l = 0; l < lanes; ++l) {
      kept[l] = ended_[l] == kNone ? UINT16_MAX : 0;
      if (ended_[l] != kNone) finish(ended_[l], l, bests[l]);
    }
    const Vector mask = Lanes::load(kept);
    for (uint32_t i = 0; i < length_; ++i) {
      cells_[i].H = Lanes::both(cells_[i].H, mask);
      cells_[i].E = Lanes::both(cells_[i].E, mask);
      if constexpr (kProfiles) supports_[i] = Lanes::both(supports_[i], mask);
    }
    return Lanes::both(best, mask);
  }

  void finish(uint32_t t, uint32_t lane, int16_t best) {
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

  /* Computes all cells of a column of a profile score. Returns false if the task was cancelled. */
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
  /** Target of each lane that ends with the current column, or kNone. */
  uint32_t ended_[lanes];
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
