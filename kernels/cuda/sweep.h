/* One pass of a team over its targets. Both CUDA kernels and their emulation on the CPU share this code.
 *
 * A team is 32 or 128 lanes in step. It offers (see portable.h, hopper.h and test/emulated_team.h):
 *
 *     Word, kLanes, kGroups                    a 32-bit value of each lane; rows of a tile of targets / 8
 *     kFetchesAhead, kPacksEarly               whether a tile is fetched before its turn; whether maxima are of pairs
 *     map(f, words…) mapLanes(f, words…)       f of each lane's words, with its number for mapLanes
 *     fill(value) shuffleXor(word, mask)       mask < 32: lanes of one warp
 *     uniform(value)                           the value, known to the compiler to be equal in all lanes
 *     nextChunk()                              the next unclaimed chunk
 *     fetch(walk) await()                      starts reading the walk's next tile; waits for the oldest one fetched
 *     multiply(queryTile, dots)                dots[4n + i] in the layout of layout.h, kLanes / 2 query rows
 *     keepClosest(queryTile, word) closest(…)  a word per lane that outlives the tile; so keepSum(query, value) sum(…)
 *     joinWarps(words)                         the largest pairs over the team's warps
 *     sumWarp(word) sumRows(word, quarter)     Σ over a warp; Σ over the eight lanes l with l % 4 = quarter, all warps
 *     store(address, value)                    once for the team
 *
 * Branches depend on values that are equal in all lanes. Each dot product is packed once and enters two maxima: one of
 * its query row, over the tile, and one of its target row, over the query.
 *
 * Four neighbouring lanes compute the same maxima of query rows. The first sums them. With a floor, the second sums the
 * maxima raised to the floor, which exceeds the excess by rows × floor. Excesses so need no registers, and a search
 * without them only a branch at the end of a protein. */
#ifndef GLOAMING_CUDA_SWEEP_H
#define GLOAMING_CUDA_SWEEP_H

#include "cuda/pairs.h"
#include "cuda/shape.h"
#include "cuda/walk.h"

namespace gloaming {
namespace cuda {

/** Rows of one query in the launch: all of them, or a panel of a query that is too long for shared memory. */
struct QueryPart {
  uint32_t firstTile, tileCount, rows;
};

/** Parameters of a launch; passed by value. */
struct SweepTask {
  const uint8_t* tokens;
  TargetList targets;
  const Chunk* chunks;
  uint32_t chunkCount;
  /** Zero at the start of the launch. */
  uint32_t* takenChunks;

  /** Packed for the launched kernel, which copies it to shared memory. */
  const uint8_t* query;
  uint32_t queryBytes, queryTiles, queryCount;
  QueryPart parts[kMaxLaunchQueries];

  /** [queryCount × itemCount], by place in the list. */
  int32_t* queryToTarget;
  int32_t* targetToQuery;
  /** Excess over the floor, 0..32,767; null without a floor. */
  int32_t* queryExcess;
  uint32_t floor;
  uint32_t itemCount;

  /** For panels, best dot products of target rows with earlier panels [groups × 4]; null where the query is whole. */
  uint32_t* rowMaxima;
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
struct LargerWord {
  GLOAMING_BOTH uint32_t operator()(uint32_t a, uint32_t b) const { return largerWord(a, b); }
};

/** The sums that each of four lanes with the same maxima of query rows computes. */
constexpr uint32_t kSumQuarter = 0, kExcessQuarter = 1;

/** Groups of target rows that a lane holds after the join of its columns. */
template <class Team>
GLOAMING_TEAM uint32_t heldGroup(uint32_t lane, uint32_t index) {
  return lane % 32 / 4 * (Team::kGroups / 8) + index;
}

/* A lane's maxima of its target rows. Teams without an instruction for the maximum of pairs have one word per row. */
template <class Team>
struct Columns {
  using Word = typename Team::Word;
  /** Of pairs of rows, or of the first row of each pair. */
  Word even[Team::kGroups];
  Word odd[Team::kPacksEarly ? 1 : Team::kGroups];

  GLOAMING_TEAM explicit Columns(Team& team) {
    GLOAMING_UNROLL
    for (Word& word : even) word = team.fill(Team::kPacksEarly ? kLeastPair : kLeastWord);
    GLOAMING_UNROLL
    for (Word& word : odd) word = team.fill(kLeastWord);
  }
};

/* A lane's maxima of query rows l/4 and l/4 + 8 over its target rows so far. */
template <class Team>
struct Rows {
  using Word = typename Team::Word;
  Word upper, lower;

  GLOAMING_TEAM explicit Rows(Team& team)
      : upper(team.fill(Team::kPacksEarly ? kLeastPair : kLeastWord)), lower(upper) {}

  /* Over the target rows of all lanes, both in one word. */
  GLOAMING_TEAM Word joined(Team& team) const {
    Word pair = team.map(JoinLow{}, upper, lower);
    if (Team::kPacksEarly) pair = team.map(LargerPair{}, pair, team.map(JoinHigh{}, upper, lower));
    pair = team.map(LargerPair{}, pair, team.shuffleXor(pair, 1));
    return team.map(LargerPair{}, pair, team.shuffleXor(pair, 2));
  }
};

/* Folds one group's dot products into both kinds of maxima: six instructions for pairs, or eight. */
template <class Team>
GLOAMING_TEAM void foldGroup(Team& team, const typename Team::Word* dots, uint32_t n, Columns<Team>& columns,
                             Rows<Team>& rows) {
  using Word = typename Team::Word;
  if (Team::kPacksEarly) {
    const Word upper = team.map(JoinLow{}, dots[0], dots[1]), lower = team.map(JoinLow{}, dots[2], dots[3]);
    columns.even[n] = team.map(LargestPair{}, columns.even[n], upper, lower);
    rows.upper = team.map(LargerPair{}, rows.upper, upper);
    rows.lower = team.map(LargerPair{}, rows.lower, lower);
  } else {
    const auto raise = [&team](Word& word, Word a, Word b) {
      word = team.map(LargerWord{}, word, team.map(LargerWord{}, a, b));
    };
    raise(columns.even[n], dots[0], dots[2]);
    raise(columns.odd[n], dots[1], dots[3]);
    raise(rows.upper, dots[0], dots[1]);
    raise(rows.lower, dots[2], dots[3]);
  }
}

/* Folds all groups of a tile in which no protein ends: the most frequent case, without branches. */
template <class Team>
GLOAMING_TEAM void foldInside(Team& team, const typename Team::Word (&dots)[4 * Team::kGroups], Columns<Team>& columns,
                              Rows<Team>& rows) {
  GLOAMING_UNROLL
  for (uint32_t n = 0; n < Team::kGroups; ++n) foldGroup(team, dots + 4 * n, n, columns, rows);
}

/* Compares one tile of the query with one tile of targets. For a protein that ends with group n, sums[n] grows by the
 * best dot products of the query rows. The maxima of an open protein are stored for the next tile. */
template <class Team>
GLOAMING_TEAM void foldTile(Team& team, const SweepTask& task, const Tile& tile, uint32_t queryTile, uint32_t rowsLeft,
                            Columns<Team>& columns, typename Team::Word (&sums)[Team::kGroups]) {
  using Word = typename Team::Word;
  Word dots[4 * Team::kGroups];
  team.multiply(queryTile, dots);
  Word carried = tile.continues ? team.closest(queryTile) : team.fill(kLeastPair);
  Rows<Team> rows(team);
  if (tile.ends == 0) foldInside(team, dots, columns, rows);
  GLOAMING_UNROLL
  for (uint32_t n = 0; n < Team::kGroups && tile.ends != 0; ++n) {
    foldGroup(team, dots + 4 * n, n, columns, rows);
    if (!endsAt(tile, n)) continue;
    Word closest = team.map(LargerPair{}, rows.joined(team), carried);
    if (task.queryExcess != nullptr) {
      closest = team.mapLanes(
          [floor = joinLow(task.floor, task.floor)](uint32_t lane, uint32_t pair) {
            return largerPair(pair, lane % 4 == kExcessQuarter ? floor : kLeastPair);
          },
          closest);
    }
    sums[n] = team.mapLanes(
        [rowsLeft](uint32_t lane, uint32_t sum, uint32_t pair) {
          const uint32_t row = fragmentD(lane, 0).row;
          return sum + static_cast<uint32_t>(sumOfCounted(pair, row < rowsLeft, row + 8 < rowsLeft));
        },
        sums[n], closest);
    rows = Rows<Team>(team);
    carried = team.fill(kLeastPair);
  }
  // Groups beyond the last one of a chunk are undefined; no protein is open then.
  if (isOpen(tile)) team.keepClosest(queryTile, team.map(LargerPair{}, rows.joined(team), carried));
}

/* Lanes l and l ^ kMask share target rows. They exchange half of their words, and each joins its half. */
template <uint32_t kMask, uint32_t kHalf, class Team>
GLOAMING_TEAM void joinHalves(Team& team, typename Team::Word (&columns)[Team::kGroups]) {
  using Word = typename Team::Word;
  const auto choose = [](uint32_t lane, uint32_t clear, uint32_t set) { return (lane & kMask) != 0 ? set : clear; };
  GLOAMING_UNROLL
  for (uint32_t n = 0; n < kHalf; ++n) {
    const Word kept = team.mapLanes(choose, columns[n], columns[n + kHalf]);
    const Word given = team.mapLanes(choose, columns[n + kHalf], columns[n]);
    columns[n] = team.map(LargerPair{}, kept, team.shuffleXor(given, kMask));
  }
}

/* Joins the maxima of target rows over all lanes that share them. A lane then holds those of its heldGroup. */
template <class Team>
GLOAMING_TEAM void joinColumns(Team& team, Columns<Team>& columns) {
  GLOAMING_UNROLL
  for (uint32_t n = 0; n < Team::kGroups && !Team::kPacksEarly; ++n) {
    columns.even[n] = team.map(JoinLow{}, columns.even[n], columns.odd[n]);
  }
  joinHalves<16, Team::kGroups / 2>(team, columns.even);
  joinHalves<8, Team::kGroups / 4>(team, columns.even);
  joinHalves<4, Team::kGroups / 8>(team, columns.even);
  team.joinWarps(columns.even);
}

/* Joins a panel's maxima of target rows with those of earlier panels. */
template <class Team>
GLOAMING_TEAM void joinPanels(Team& team, const SweepTask& task, const Tile& tile,
                              typename Team::Word (&columns)[Team::kGroups]) {
  GLOAMING_UNROLL
  for (uint32_t i = 0; i < Team::kGroups / 8; ++i) {
    columns[i] = team.mapLanes(
        [&task, &tile, i](uint32_t lane, uint32_t pair) {
          const uint32_t group = heldGroup<Team>(lane, i);
          if (group >= tile.groupCount) return pair;
          uint32_t& kept = task.rowMaxima[(size_t{tile.firstGroup} + group) * 4 + lane % 4];
          if (!task.isFirstPanel) pair = largerPair(pair, kept);
          if (!task.isLastPanel) kept = pair;
          return pair;
        },
        columns[i]);
  }
}

/* Σ over the rows of groups first … last of their best dot product. */
template <class Team>
GLOAMING_TEAM uint32_t sumOfRows(Team& team, const Tile& tile, uint32_t first, uint32_t last,
                                 const typename Team::Word (&columns)[Team::kGroups]) {
  typename Team::Word sum = team.fill(0);
  GLOAMING_UNROLL
  for (uint32_t i = 0; i < Team::kGroups / 8; ++i) {
    sum = team.mapLanes(
        [&tile, first, last, i](uint32_t lane, uint32_t before, uint32_t pair) {
          const uint32_t group = heldGroup<Team>(lane, i), row = lane % 4 * 2;
          if (group < first || group > last) return before;
          const uint32_t rows = rowsOf(tile, group);
          return before + static_cast<uint32_t>(sumOfCounted(pair, row < rows, row + 1 < rows));
        },
        sum, columns[i]);
  }
  return team.sumWarp(sum);
}

/* Writes the sums of the proteins that end in the tile, and carries that of the open one over. */
template <class Team>
GLOAMING_TEAM void settleTile(Team& team, const SweepTask& task, const Tile& tile, uint32_t query,
                              const typename Team::Word (&columns)[Team::kGroups],
                              const typename Team::Word (&sums)[Team::kGroups]) {
  uint32_t first = 0, item = tile.firstItem;
  uint32_t carried = tile.continues ? team.sum(query) : 0;
  // One team owns each place, and panels run in successive launches, so no atomic is needed.
  const auto add = [&team, &task](int32_t* address, uint32_t sum) {
    const uint32_t earlier = task.isFirstPanel ? 0 : static_cast<uint32_t>(*address);
    team.store(address, static_cast<int32_t>(earlier + sum));
  };
  GLOAMING_UNROLL
  for (uint32_t n = 0; n < Team::kGroups; ++n) {
    if (!endsAt(tile, n)) continue;
    const size_t place = size_t{query} * task.itemCount + item;
    const uint32_t ofRows = carried + sumOfRows(team, tile, first, n, columns);
    if (task.isLastPanel) team.store(task.targetToQuery + place, static_cast<int32_t>(ofRows));
    add(task.queryToTarget + place, team.sumRows(sums[n], kSumQuarter));
    if (task.queryExcess != nullptr) {
      const uint32_t raised = team.sumRows(sums[n], kExcessQuarter);
      add(task.queryExcess + place, raised - task.parts[query].rows * task.floor);
    }
    carried = 0;
    first = n + 1;
    ++item;
  }
  if (isOpen(tile)) team.keepSum(query, carried + sumOfRows(team, tile, first, tile.groupCount - 1, columns));
}

template <class Team>
GLOAMING_TEAM void sweepTile(Team& team, const SweepTask& task, const Tile& tile) {
  for (uint32_t query = 0; query < task.queryCount; ++query) {
    const QueryPart part = task.parts[query];
    Columns<Team> columns(team);
    typename Team::Word sums[Team::kGroups];
    GLOAMING_UNROLL
    for (auto& sum : sums) sum = team.fill(0);
    for (uint32_t t = 0; t < part.tileCount; ++t) {
      foldTile(team, task, tile, part.firstTile + t, part.rows - t * (Team::kLanes / 2), columns, sums);
    }
    joinColumns(team, columns);
    if (task.rowMaxima != nullptr) joinPanels(team, task, tile, columns.even);
    settleTile(team, task, tile, query, columns.even, sums);
  }
}

/* Processes chunks until there are none. */
template <class Team>
GLOAMING_TEAM void sweep(Team& team, const SweepTask& task) {
  for (uint32_t c = team.nextChunk(); c < task.chunkCount; c = team.nextChunk()) {
    TileWalk walk(task.targets, task.chunks[c]);
    Tile ahead = team.fetch(walk);
    while (ahead.groupCount > 0) {
      Tile tile = ahead;
      tile.ends = team.uniform(tile.ends);
      tile.groupCount = team.uniform(tile.groupCount);
      if (Team::kFetchesAhead) ahead = team.fetch(walk);
      team.await();
      sweepTile(team, task, tile);
      if (!Team::kFetchesAhead) ahead = team.fetch(walk);
    }
  }
}

}  // namespace cuda
}  // namespace gloaming

#endif
