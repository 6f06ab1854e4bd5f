/* MaxSim of a panel of query rows with listed targets. Both CUDA kernels and their emulation on the CPU share it.
 *
 * A warp processes one protein after the other, slab by slab. It multiplies the rows of a slab, which are in its
 * registers, with all query rows, which are in shared memory. Each dot product enters two maxima: one of its target
 * row, over the query, and one of its query row, over the protein. The first is complete after the slab, the second
 * after the protein, so a lane keeps the maxima of its query rows in registers until then.
 *
 * A warp offers (see warp.h, portable.h, hopper.h and test/emulated_team.h):
 *
 *     Word, kShape                             a 32-bit value of each lane; sizes of shape.h
 *     kPacks                                   whether maxima of query rows are kept as pairs of int16
 *     map(f, words…) mapLanes(f, words…)       f of each lane's words, with its number for mapLanes
 *     fill(value) shuffleXor(word, mask)       all lanes equal; the word of another lane
 *     nextChunk()                              the next unclaimed chunk
 *     prefetch(slab) load(slab)                asks for a slab's rows; makes them the rows that start multiplies
 *     isAnyBusy(isBusy)                        whether any warp that multiplies together with this one is busy
 *     start(tile, dots)                        multiplies with a tile of query rows, in the layout of layout.h
 *     finish<s>(dots)                          waits for the results of slab s, and of those before it
 *     sumWarp(word)                            Σ over all lanes
 *     store(address, value)                    once for the warp
 *
 * Branches depend on values that are equal in all lanes. */
#ifndef GLOAMING_CUDA_SWEEP_H
#define GLOAMING_CUDA_SWEEP_H

#include "cuda/pairs.h"
#include "cuda/shape.h"
#include "cuda/walk.h"

namespace gloaming {
namespace cuda {

/** Parameters of a launch; passed by value. */
struct SweepTask {
  const uint8_t* tokens;
  TargetList targets;
  const Chunk* chunks;
  uint32_t chunkCount;
  /** Zero at the start of the launch. */
  uint32_t* takenChunks;

  /** A panel, packed for the launched kernel, which copies it to shared memory. */
  const uint8_t* query;
  uint32_t queryRows, queryTiles;

  /** [items], by place in the list. */
  int32_t* queryToTarget;
  int32_t* targetToQuery;
  /** Excess over the floor, 0..32,767; null without a floor. */
  int32_t* queryExcess;
  uint32_t floor;

  /** Best dot products of target rows with earlier panels [groups × 8]; null if the panel is the whole query. */
  int16_t* rowMaxima;
  bool isFirstPanel, isLastPanel;
};

/* Functions of a lane's words, as types, so that compilers see through them. */
struct JoinLow {
  GLOAMING_BOTH uint32_t operator()(uint32_t low, uint32_t high) const { return joinLow(low, high); }
};
struct JoinHigh {
  GLOAMING_BOTH uint32_t operator()(uint32_t low, uint32_t high) const { return joinHigh(low, high); }
};
struct LargerPair {
  GLOAMING_BOTH uint32_t operator()(uint32_t a, uint32_t b) const { return largerPair(a, b); }
};
struct LargestPair {
  GLOAMING_BOTH uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const { return largestPair(a, b, c); }
};
struct LargestWord {
  GLOAMING_BOTH uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const { return largestWord(a, b, c); }
};

/* A lane's maxima of query rows over a protein so far: of rows 8n + 2·(l%4) and the next one, for each group n. */
template <class Team>
struct Columns {
  using Word = typename Team::Word;
  static constexpr uint32_t kGroups = Team::kShape.panelGroups();
  static constexpr uint32_t kLeast = Team::kPacks ? kLeastPair : kLeastWord;
  /** Of both rows, or of the first one. */
  Word even[kGroups];
  Word odd[Team::kPacks ? 1 : kGroups];

  GLOAMING_TEAM explicit Columns(Team& team) { clear(team); }
  GLOAMING_TEAM void clear(Team& team) {
    GLOAMING_UNROLL
    for (Word& word : even) word = team.fill(kLeast);
    GLOAMING_UNROLL
    for (Word& word : odd) word = team.fill(kLeast);
  }
};

/* A lane's maxima of target rows l/4 and l/4 + 8 of 16 over its query rows so far. */
template <class Team>
struct Rows {
  using Word = typename Team::Word;
  Word upper, lower;

  GLOAMING_TEAM void clear(Team& team) { upper = lower = team.fill(Columns<Team>::kLeast); }

  /* Over the query rows of all lanes, both in one word. */
  GLOAMING_TEAM Word joined(Team& team) const {
    Word pair = team.map(JoinLow{}, upper, lower);
    if (Team::kPacks) pair = team.map(LargerPair{}, pair, team.map(JoinHigh{}, upper, lower));
    pair = team.map(LargerPair{}, pair, team.shuffleXor(pair, 1));
    return team.map(LargerPair{}, pair, team.shuffleXor(pair, 2));
  }
};

/* Folds the dot products of two groups of query rows into both kinds of maxima: one instruction for each dot product on
 * Hopper, because a maximum of three is one. */
template <class Team>
GLOAMING_TEAM void foldGroups(Team& team, const typename Team::Word* dots, uint32_t group, Columns<Team>& columns,
                              Rows<Team>& rows) {
  using Word = typename Team::Word;
  if (Team::kPacks) {
    Word upper[2], lower[2];
    GLOAMING_UNROLL
    for (uint32_t n = 0; n < 2; ++n) {
      upper[n] = team.map(JoinLow{}, dots[4 * n], dots[4 * n + 1]);
      lower[n] = team.map(JoinLow{}, dots[4 * n + 2], dots[4 * n + 3]);
      columns.even[group + n] = team.map(LargestPair{}, columns.even[group + n], upper[n], lower[n]);
    }
    rows.upper = team.map(LargestPair{}, rows.upper, upper[0], upper[1]);
    rows.lower = team.map(LargestPair{}, rows.lower, lower[0], lower[1]);
  } else {
    GLOAMING_UNROLL
    for (uint32_t n = 0; n < 2; ++n) {
      const Word* own = dots + 4 * n;
      columns.even[group + n] = team.map(LargestWord{}, columns.even[group + n], own[0], own[2]);
      columns.odd[group + n] = team.map(LargestWord{}, columns.odd[group + n], own[1], own[3]);
      rows.upper = team.map(LargestWord{}, rows.upper, own[0], own[1]);
      rows.lower = team.map(LargestWord{}, rows.lower, own[2], own[3]);
    }
  }
}

/* Lanes l and l ^ kMask share query rows. They exchange half of their words, and each joins its half. */
template <uint32_t kMask, uint32_t kHalf, class Team>
GLOAMING_TEAM void joinHalves(Team& team, typename Team::Word (&columns)[Columns<Team>::kGroups]) {
  using Word = typename Team::Word;
  const auto choose = [](uint32_t lane, uint32_t clear, uint32_t set) { return (lane & kMask) != 0 ? set : clear; };
  GLOAMING_UNROLL
  for (uint32_t n = 0; n < kHalf; ++n) {
    const Word kept = team.mapLanes(choose, columns[n], columns[n + kHalf]);
    const Word given = team.mapLanes(choose, columns[n + kHalf], columns[n]);
    columns[n] = team.map(LargerPair{}, kept, team.shuffleXor(given, kMask));
  }
}

/* Σ over the query rows of their best dot product, or of the larger one of it and the floor. A lane's words are those
 * of groups l/4 · groups/8 and following, of which lanes with another l/4 have none. */
template <class Team>
GLOAMING_TEAM uint32_t sumOfColumns(Team& team, const SweepTask& task, uint32_t floor,
                                    const typename Team::Word (&columns)[Columns<Team>::kGroups]) {
  constexpr uint32_t kHeld = Columns<Team>::kGroups / 8;
  typename Team::Word sum = team.fill(0);
  GLOAMING_UNROLL
  for (uint32_t n = 0; n < kHeld; ++n) {
    sum = team.mapLanes(
        [rows = task.queryRows, floor, n](uint32_t lane, uint32_t before, uint32_t pair) {
          const uint32_t row = (lane / 4 * kHeld + n) * kGroupRows + lane % 4 * 2;
          return before + static_cast<uint32_t>(sumOfCounted(largerPair(pair, floor), row < rows, row + 1 < rows));
        },
        sum, columns[n]);
  }
  return team.sumWarp(sum);
}

/* Writes the sums of a protein, whose last slab has been folded. */
template <class Team>
GLOAMING_TEAM void settleProtein(Team& team, const SweepTask& task, uint32_t item, const typename Team::Word& rowSum,
                                 Columns<Team>& columns) {
  constexpr uint32_t kGroups = Columns<Team>::kGroups;
  static_assert(kGroups % 8 == 0, "three halvings");
  GLOAMING_UNROLL
  for (uint32_t n = 0; n < kGroups && !Team::kPacks; ++n) {
    columns.even[n] = team.map(JoinLow{}, columns.even[n], columns.odd[n]);
  }
  joinHalves<16, kGroups / 2>(team, columns.even);
  joinHalves<8, kGroups / 4>(team, columns.even);
  joinHalves<4, kGroups / 8>(team, columns.even);
  // One warp owns each place, and panels run in successive launches, so no atomic is needed.
  const auto add = [&team, &task, item](int32_t* sums, uint32_t sum) {
    const uint32_t earlier = task.isFirstPanel ? 0 : static_cast<uint32_t>(sums[item]);
    team.store(sums + item, static_cast<int32_t>(earlier + sum));
  };
  add(task.queryToTarget, sumOfColumns(team, task, kLeastPair, columns.even));
  if (task.queryExcess != nullptr) {
    const uint32_t raised = sumOfColumns(team, task, joinLow(task.floor, task.floor), columns.even);
    add(task.queryExcess, raised - task.queryRows * task.floor);
  }
  if (!task.isLastPanel) return;
  // Four lanes have the maxima of the same rows.
  const auto once = [](uint32_t lane, uint32_t sum) { return lane % 4 == 0 ? sum : 0; };
  team.store(task.targetToQuery + item, static_cast<int32_t>(team.sumWarp(team.mapLanes(once, rowSum))));
}

/* Joins the maxima of 16 target rows with those of earlier panels. The first of four lanes with the same rows does. */
GLOAMING_TEAM uint32_t joinPanels(const SweepTask& task, uint32_t lane, uint32_t pair, int16_t* kept, uint32_t groups) {
  if (lane % 4 != 0 || groups == 0) return pair;
  int16_t* low = kept + lane / 4;
  int16_t* high = low + kGroupRows;
  const bool hasHigh = groups > 1;
  if (!task.isFirstPanel) {
    const uint32_t highRow = hasHigh ? static_cast<uint16_t>(*high) : 0x8000u;
    pair = largerPair(pair, joinLow(static_cast<uint16_t>(*low), highRow));
  }
  if (!task.isLastPanel) {
    *low = static_cast<int16_t>(lowOf(pair));
    if (hasHigh) *high = static_cast<int16_t>(highOf(pair));
  }
  return pair;
}

/* Adds the best dot products of a slab's rows to the sum of each lane. */
template <class Team>
GLOAMING_TEAM void settleRows(Team& team, const SweepTask& task, const Slab& slab,
                              const Rows<Team> (&rows)[Team::kShape.slabs], typename Team::Word& rowSum) {
  GLOAMING_UNROLL
  for (uint32_t s = 0; s < Team::kShape.slabs; ++s) {
    const uint32_t passed = 16 * s;
    const uint32_t left = slab.rows > passed ? slab.rows - passed : 0;
    typename Team::Word pair = rows[s].joined(team);
    if (task.rowMaxima != nullptr) {
      int16_t* kept = task.rowMaxima + (size_t{slab.launchGroup} + 2 * s) * kGroupRows;
      pair = team.mapLanes([&task, kept, groups = groupsOf(left)](
                               uint32_t lane, uint32_t word) { return joinPanels(task, lane, word, kept, groups); },
                           pair);
    }
    rowSum = left >= 16 ? team.map([](uint32_t word, uint32_t sum) { return addHalves(word, sum); }, pair, rowSum)
                        : team.mapLanes(
                              [left](uint32_t lane, uint32_t word, uint32_t sum) {
                                const uint32_t row = lane / 4;
                                return sum + static_cast<uint32_t>(sumOfCounted(word, row < left, row + 8 < left));
                              },
                              pair, rowSum);
  }
}

/* Folds the dot products of one of the slabs with a tile. */
template <uint32_t kSlab, class Team>
GLOAMING_TEAM void foldSlab(Team& team, uint32_t tile,
                            typename Team::Word (&dots)[Team::kShape.slabs][4 * Team::kShape.tileGroups],
                            Columns<Team>& columns, Rows<Team> (&rows)[Team::kShape.slabs]) {
  if constexpr (kSlab < Team::kShape.slabs) {
    team.template finish<kSlab>(dots);
    GLOAMING_UNROLL
    for (uint32_t n = 0; n < Team::kShape.tileGroups; n += 2) {
      foldGroups(team, dots[kSlab] + 4 * n, tile * Team::kShape.tileGroups + n, columns, rows[kSlab]);
    }
  }
}

/* Compares the loaded rows with the panel. */
template <class Team>
GLOAMING_TEAM void foldTiles(Team& team, uint32_t tileCount, Columns<Team>& columns,
                             Rows<Team> (&rows)[Team::kShape.slabs]) {
  static_assert(Team::kShape.slabs <= 2, "more slabs need more calls");
  typename Team::Word dots[Team::kShape.slabs][4 * Team::kShape.tileGroups];
  GLOAMING_UNROLL
  for (uint32_t tile = 0; tile < Team::kShape.panelTiles; ++tile) {
    if (tile >= tileCount) break;
    team.start(tile, dots);
    foldSlab<0>(team, tile, dots, columns, rows);
    foldSlab<1>(team, tile, dots, columns, rows);
  }
}

/** Turns between two questions whether any warp is busy, which all warps of a group wait for. */
constexpr uint32_t kTurns = 8;

/* Processes chunks until there are none. A warp without rows goes on multiplying, without a use, while others of its
 * group have some. */
template <class Team>
GLOAMING_TEAM void sweep(Team& team, const SweepTask& task) {
  constexpr uint32_t kSlabs = Team::kShape.slabs;
  SlabWalk walk(task.targets, task.chunks, task.chunkCount);
  Columns<Team> columns(team);
  typename Team::Word rowSum = team.fill(0);
  Slab ahead = walk.next(16 * kSlabs, team);
  team.prefetch(ahead);
  for (uint32_t turn = 0; turn % kTurns != 0 || team.isAnyBusy(ahead.rows != 0); ++turn) {
    const Slab slab = ahead;
    team.load(slab);
    if (slab.rows != 0) {
      ahead = walk.next(16 * kSlabs, team);
      team.prefetch(ahead);
    }
    Rows<Team> rows[kSlabs];
    GLOAMING_UNROLL
    for (Rows<Team>& one : rows) one.clear(team);
    foldTiles(team, task.queryTiles, columns, rows);
    if (slab.rows == 0) continue;
    settleRows(team, task, slab, rows, rowSum);
    if (!slab.isLast) continue;
    settleProtein(team, task, slab.item, rowSum, columns);
    columns.clear(team);
    rowSum = team.fill(0);
  }
}

}  // namespace cuda
}  // namespace gloaming

#endif
