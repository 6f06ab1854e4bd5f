/* Affine local alignment along anti-diagonals, for any vector type. reference/affine.cpp defines the results.
 *
 *   strip   `lanes` neighbouring query residues, one per lane, swept over all target residues
 *   step d  lane l holds the cell (query l of the strip, target d − l), so no lane waits for another one
 *   base    score of the two letters less the offset, by strip, target letter and lane; packed with the query
 *   skew    dot products are computed by target row, eight rows at a time, and skew.h delays lane l by l rows. Cells
 *           outside the target score `never`, so they can neither grow nor be a best
 *   border  the last lane's H and outgoing F go into two arrays over the target that feed lane 0 of the next strip
 *
 * Scores   Only H(i−1,j−1) + s can leave 16 bits, and it saturates. H is exact while the best is below the largest
 *          score; if the best reaches it, the caller repeats the work with 32-bit lanes. E and F stay within −2 × 4,095
 *          and 32,767, as gaps cost at most 4,095 and H ≥ 0. At or below 0 they never matter, so they may start at 0.
 * Memory   score: the two border arrays. align: also 5 flag words per step of a group of strips, at most
 *          kFlagBytes, and the borders above each group. The walk back sweeps the groups again, from the last to the
 *          first. At 65,535 × 65,535 this is 16 MiB of flags and at most 90 MiB of borders.
 * Lanes    a traits class such as those of avx512/affine.cpp. Everything here is internal to the including file, and
 *          uses no standard container: each instruction set compiles its own copy.
 */
#ifndef GLOAMING_WAVEFRONT_H
#define GLOAMING_WAVEFRONT_H

#include <cstring>

#include "kernels.h"
#include "skew.h"
#include "engine/workspace.h"

namespace gloaming {
namespace {

constexpr size_t kFlagBytes = size_t{16} << 20;
/** Flag words of one step, Lanes::flagBits equal bits per lane. */
enum Flag : uint32_t { kPositive, kIsPair, kIsInsertion, kInsertionOpens, kDeletionOpens, kFlagCount };

/* A packed query has three parts, each strip by strip: its tokens, its bases, its profile. */
template <class Lanes>
struct Parts {
  using Score = typename Lanes::Score;
  static constexpr uint32_t lanes = Lanes::lanes;

  /** Tokens in the layout of Lanes. */
  uint8_t* tokens;
  /** [strips × kLetterCount × lanes] */
  Score* bases;
  /** Rows in the layout of Lanes; undefined where profiles score nothing. */
  uint8_t* profiles;

  Parts(const void* packed, const Tokens& query)
      : tokens(static_cast<uint8_t*>(const_cast<void*>(packed))),
        bases(reinterpret_cast<Score*>(tokens + Lanes::packedBytes(query))),
        profiles(reinterpret_cast<uint8_t*>(bases + baseCount(query.length))) {}

  static size_t bytes(const Tokens& query) {
    return Lanes::packedBytes(query) + baseCount(query.length) * sizeof(Score) +
           roundUp(query.length, lanes) / lanes * Lanes::profileStripBytes;
  }

 private:
  static size_t baseCount(uint32_t length) { return size_t{roundUp(length, lanes)} * kLetterCount; }
};

template <class Lanes>
void packBases(const AffineQuery& query, typename Lanes::Score* to) {
  for (uint32_t first = 0; first < query.tokens.length; first += Lanes::lanes) {
    for (uint32_t letter = 0; letter < kLetterCount; ++letter) {
      for (uint32_t i = first; i < first + Lanes::lanes; ++i) {
        const uint8_t own = i < query.tokens.length ? query.letters[i] : 0;
        const int32_t score = query.parameters.letterScore(own, static_cast<uint8_t>(letter));
        *to++ = static_cast<typename Lanes::Score>(score - query.parameters.offset);
      }
    }
  }
}

/** A cell by zero-based query and target residue. */
struct Cell {
  int32_t score;
  int64_t i, j;
};

template <class Lanes>
class Wavefront {
  using Vector = typename Lanes::Vector;
  using Score = typename Lanes::Score;
  using Word = typename Lanes::Word;
  static constexpr uint32_t lanes = Lanes::lanes;

 public:
  Wavefront(const AffineTask& task, const uint8_t* packed)
      : task_(task), query_(task.query.tokens), packed_(packed, query_), context_(Lanes::prepare(task)) {
    // Room for the lanes that run ahead of and behind the target, and for a whole vector read at the end.
    borderLength_ = roundUp(task.targetLength + 4 * lanes + 2 * kTileRows, 64);
    auto* borders = static_cast<Score*>(task.workspace.reserve(Workspace::kBoundaries, borderBytes()));
    borderH_ = borders + lanes;
    borderF_ = borders + borderLength_ + lanes;
  }

  /* Returns the score; an undefined one if the task is cancelled. */
  int32_t score() {
    clearBorders();
    Vector best = Lanes::zero();
    int32_t last = 0;
    for (uint32_t strip = 0; strip < stripCount(); ++strip) {
      alignas(64) Score bests[lanes], at[lanes];
      if (!sweep<false, false>(strip, task_.targetLength, nullptr, bests, at)) return 0;
      if (lanesUsed(strip) == lanes) best = Lanes::max(best, Lanes::load(bests));
      else
        for (uint32_t l = 0; l < lanesUsed(strip); ++l) last = bests[l] > last ? bests[l] : last;
    }
    alignas(64) Score bests[lanes];
    Lanes::store(bests, best);
    for (uint32_t l = 0; l < lanes; ++l) last = bests[l] > last ? bests[l] : last;
    return last;
  }

  /* Returns the best alignment. If 16 bits do not hold the score, it sets `saturated` instead. */
  AffineAlignment align(bool* saturated) {
    const Cell end = findEnd();
    *saturated = end.score == Lanes::largest;
    if (end.score == 0 || *saturated) return {};
    return walk(end);
  }

 private:
  uint32_t stripCount() const { return (query_.length + lanes - 1) / lanes; }
  uint32_t lanesUsed(uint32_t strip) const {
    const uint32_t left = query_.length - strip * lanes;
    return left < lanes ? left : lanes;
  }
  size_t borderBytes() const { return 2 * size_t{borderLength_} * sizeof(Score); }
  Score* borders() const { return borderH_ - lanes; }
  void clearBorders() { std::memset(borders(), 0, borderBytes()); }
  static uint32_t stepCount(uint32_t targetLength) { return roundUp(targetLength + lanes - 1, kTileRows); }
  size_t stripFlagBytes(uint32_t targetLength) const {
    return size_t{stepCount(targetLength)} * kFlagCount * sizeof(Word);
  }
  uint32_t groupStrips() const {
    const size_t fit = kFlagBytes / stripFlagBytes(task_.targetLength);
    return fit < 1 ? 1 : fit < stripCount() ? static_cast<uint32_t>(fit) : stripCount();
  }

  /* State of the sweep of a strip: inputs of the next step, one lane per query residue. */
  struct Front {
    Vector E, F;                    // entering deletion and insertion
    Vector diagonal, diagonalNext;  // H of the step before last, moved to the next lane; and of the last one
    Vector best, bestAt, now;       // best H so far, the target residue where it was reached first, this one
  };

  struct Costs {
    Vector gapOpen, gapExtend;
  };

  /* One step: the cells (query l, target step − l). words: kFlagCount of them if kFlags. */
  template <bool kEnds, bool kFlags>
  static GLOAMING_INLINE void advance(Front& at, Vector substitution, const Costs& costs, Word* words, Score* borderH,
                                      Score* borderF) {
    const Vector zero = Lanes::zero(), pair = Lanes::add(at.diagonal, substitution);
    const Vector withoutF = Lanes::max(Lanes::max(pair, zero), at.E), H = Lanes::max(withoutF, at.F);
    const Vector opened = Lanes::subtract(H, costs.gapOpen);
    const Vector extendedE = Lanes::subtract(at.E, costs.gapExtend);
    const Vector extendedF = Lanes::subtract(at.F, costs.gapExtend);
    if constexpr (kFlags) {
      words[kPositive] = Lanes::greater(H, zero);
      words[kIsPair] = Lanes::equal(H, pair);
      words[kIsInsertion] = Lanes::equal(H, at.F);
      words[kInsertionOpens] = static_cast<Word>(~Lanes::greater(extendedF, opened));
      words[kDeletionOpens] = static_cast<Word>(~Lanes::greater(extendedE, opened));
    }
    if constexpr (kEnds) {
      at.bestAt = Lanes::selectGreater(H, at.best, at.now, at.bestAt);
      at.now = Lanes::next(at.now);
    }
    at.best = Lanes::max(at.best, H);
    at.E = Lanes::max(opened, extendedE);
    // As gapOpen ≥ gapExtend, H without F suffices here, which shortens the dependency chain of F.
    const Vector F = Lanes::max(Lanes::subtract(withoutF, costs.gapOpen), extendedF);
    // The last lane's column was read lanes − 1 steps ago, so it can be overwritten.
    Lanes::storeLast(borderF - static_cast<int64_t>(lanes - 1), F);
    Lanes::storeLast(borderH - static_cast<int64_t>(lanes - 1), H);
    at.F = Lanes::shiftIn(F, borderF + 1);
    at.diagonal = at.diagonalNext;
    at.diagonalNext = Lanes::shiftIn(H, borderH + 1);
  }

  /* Pushes the rows from `first` on to the skew; those from `targetLength` on lie beyond the target. */
  GLOAMING_INLINE void pushRows(Skew<Lanes>& skew, const typename Lanes::Products& products, uint32_t strip,
                                uint32_t first, uint32_t targetLength) const {
    const Vector never = Lanes::broadcast(Lanes::never);
    Vector rows[kTileRows];
    if (first >= targetLength) {
#pragma GCC unroll 8
      for (Vector& row : rows) row = never;
      return skew.push(rows);
    }
    products.finish(rows);
    if (task_.parameters.profileWeight != 0) addProfiles(strip, first, targetLength, rows);
    const Score* bases = packed_.bases + size_t{strip} * kLetterCount * lanes;
    const uint8_t* letters = task_.letters.target + first;
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) rows[r] = Lanes::add(rows[r], Lanes::load(bases + letters[r] * lanes));
    if (first + kTileRows > targetLength) {
      const uint32_t count = targetLength - first;
#pragma GCC unroll 8
      for (uint32_t r = 0; r < kTileRows; ++r) rows[r] = r < count ? rows[r] : never;
    }
    skew.push(rows);
  }

  GLOAMING_INLINE void addProfiles(uint32_t strip, uint32_t first, uint32_t targetLength,
                                   Vector (&rows)[kTileRows]) const {
    int8_t tail[kTileRows * kProfileWidth] = {};
    const int8_t* profiles = task_.profiles.target + size_t{first} * kProfileWidth;
    if (first + kTileRows > targetLength) {
      // Nothing may be read beyond the target.
      std::memcpy(tail, profiles, size_t{targetLength - first} * kProfileWidth);
      profiles = tail;
    }
    Lanes::addProfiles(packed_.profiles + size_t{strip} * Lanes::profileStripBytes, profiles,
                       Lanes::broadcast(task_.parameters.profileWeight), rows);
  }

  /* Sweeps one strip over the first targetLength rows. bests, at [lanes]: each lane's best H and, if kEnds, the first
   * target residue (modulo the score's range) that reaches it. False if the task was cancelled. */
  template <bool kEnds, bool kFlags>
  bool sweep(uint32_t strip, uint32_t targetLength, Word* flags, Score* bests, Score* at) {
    const Costs costs{Lanes::broadcast(task_.parameters.gapOpen), Lanes::broadcast(task_.parameters.gapExtend)};
    const Vector zero = Lanes::zero();
    Front front{
        zero, Lanes::shiftIn(zero, borderF_), zero, Lanes::shiftIn(zero, borderH_), zero, zero, Lanes::minusLane()};
    Skew<Lanes> skew(Lanes::broadcast(Lanes::never));
    // The dot products of a tile run between the steps of the tile before it. The steps depend on each other, the
    // products do not.
    int8_t tail[kTileRows * kMaxDimension];
    typename Lanes::Products products(task_, context_, packed_.tokens + Lanes::stripBytes(query_.dimension) * strip,
                                      tail);
    products.begin(0, targetLength);
    for (uint32_t part = 0; part < kTileRows; ++part) products.advance();
    pushRows(skew, products, strip, 0, targetLength);
    const uint32_t tileCount = stepCount(targetLength) / kTileRows;
    for (uint32_t tile = 0; tile < tileCount; ++tile) {
      if (tile % 64 == 0 && task_.cancelled.load(std::memory_order_relaxed)) return false;
      const uint32_t first = tile * kTileRows, next = first + kTileRows;
      Score *borderH = borderH_ + first, *borderF = borderF_ + first;
      Word* words = flags + (kFlags ? size_t{first} * kFlagCount : 0);
      const bool hasNext = next < targetLength;
      if (hasNext) products.begin(next, targetLength);
      for (uint32_t r = 0; r < kTileRows; ++r) {
        advance<kEnds, kFlags>(front, skew.row(r), costs, words + (kFlags ? r * kFlagCount : 0), borderH + r,
                               borderF + r);
        if (hasNext) products.advance();
      }
      pushRows(skew, products, strip, next, targetLength);
    }
    Lanes::store(bests, front.best);
    Lanes::store(at, front.bestAt);
    return true;
  }

  /* Sweeps all strips, stores the borders above each group of strips, and finds the end cell of the best alignment. */
  Cell findEnd() {
    const uint32_t group = groupStrips();
    const size_t kept = (stripCount() - 1) / group;  // the border above group 0 is zero
    auto* checkpoints = static_cast<uint8_t*>(task_.workspace.reserve(Workspace::kCheckpoints, kept * borderBytes()));
    clearBorders();
    Cell end{0, 0, 0};
    for (uint32_t strip = 0; strip < stripCount(); ++strip) {
      if (strip > 0 && strip % group == 0) {
        std::memcpy(checkpoints + (strip / group - 1) * borderBytes(), borders(), borderBytes());
      }
      alignas(64) Score bests[lanes], at[lanes];
      if (!sweep<true, false>(strip, task_.targetLength, nullptr, bests, at)) return {0, 0, 0};
      for (uint32_t l = 0; l < lanesUsed(strip); ++l) {
        const int64_t i = int64_t{strip} * lanes + l, j = sizeof(Score) == 2 ? static_cast<uint16_t>(at[l]) : at[l];
        // Strips and lanes ascend with i, so an equal j keeps the smaller i.
        if (bests[l] > end.score || (bests[l] == end.score && end.score > 0 && j < end.j)) end = {bests[l], i, j};
      }
    }
    return end;
  }

  /* Sweeps again the group of strips that holds query residue i, up to it, with flags for target residues 0..j. */
  bool sweepGroup(uint32_t group, int64_t i, int64_t j, Word* flags) {
    const uint32_t first = group * groupStrips(), targetLength = static_cast<uint32_t>(j) + 1;
    if (group == 0) {
      clearBorders();
    } else {
      const auto* checkpoints = static_cast<const uint8_t*>(task_.workspace.peek(Workspace::kCheckpoints));
      std::memcpy(borders(), checkpoints + (group - 1) * borderBytes(), borderBytes());
    }
    for (uint32_t strip = first; strip <= static_cast<uint32_t>(i) / lanes; ++strip) {
      alignas(64) Score bests[lanes], at[lanes];
      Word* own = flags + (strip - first) * (stripFlagBytes(targetLength) / sizeof(Word));
      if (!sweep<false, true>(strip, targetLength, own, bests, at)) return false;
    }
    return true;
  }

  AffineAlignment walk(const Cell& end) {
    const uint32_t groupSize = groupStrips();
    auto* flags =
        static_cast<Word*>(task_.workspace.reserve(Workspace::kFlags, groupSize * stripFlagBytes(task_.targetLength)));
    const size_t longest = size_t{query_.length} + task_.targetLength;
    auto* runs = static_cast<uint32_t*>(task_.workspace.reserve(Workspace::kRuns, longest * sizeof(uint32_t)));
    uint32_t runCount = 0;
    uint32_t group = UINT32_MAX;
    size_t stripWords = 0;
    Run state = kPair;
    int64_t i = end.i, j = end.j;
    while (i >= 0 && j >= 0) {
      const uint32_t strip = static_cast<uint32_t>(i) / lanes, lane = static_cast<uint32_t>(i) % lanes;
      if (strip / groupSize != group) {
        group = strip / groupSize;
        stripWords = stripFlagBytes(static_cast<uint32_t>(j) + 1) / sizeof(Word);
        if (!sweepGroup(group, i, j, flags)) return {};
      }
      const Word* cell = flags + (strip - group * groupSize) * stripWords + size_t(j + lane) * kFlagCount;
      const auto has = [cell, bit = lane * Lanes::flagBits](Flag flag) { return (cell[flag] >> bit & 1) != 0; };
      // A gap ends in the cell before it when opening there is as good as extending.
      if (state == kInsertion && has(kInsertionOpens)) state = kPair;
      if (state == kDeletion && has(kDeletionOpens)) state = kPair;
      if (state == kPair) {
        if (!has(kPositive)) break;
        if (!has(kIsPair)) state = has(kIsInsertion) ? kInsertion : kDeletion;
      }
      if (runCount > 0 && (runs[runCount - 1] & 3) == state) runs[runCount - 1] += 4;
      else runs[runCount++] = 4 | state;
      if (state != kDeletion) --i;
      if (state != kInsertion) --j;
    }
    for (uint32_t a = 0, b = runCount; a + 1 < b; ++a) {
      const uint32_t run = runs[a];
      runs[a] = runs[--b];
      runs[b] = run;
    }
    const auto after = [](int64_t index) { return static_cast<uint32_t>(index + 1); };
    return {end.score, after(i), after(end.i), after(j), after(end.j), runs, runCount};
  }

  const AffineTask& task_;
  const Tokens query_;
  const Parts<Lanes> packed_;
  const typename Lanes::Context context_;
  uint32_t borderLength_;
  Score* borderH_;
  Score* borderF_;
};

/* A packed query for 16 bits, then for 32. */
template <class Narrow, class Wide>
size_t wavefrontPackedBytes(const Tokens& query) {
  return Parts<Narrow>::bytes(query) + Parts<Wide>::bytes(query);
}

template <class Lanes>
void packWidth(const AffineQuery& query, uint8_t* packed) {
  const Parts<Lanes> parts(packed, query.tokens);
  Lanes::pack(query.tokens, parts.tokens);
  packBases<Lanes>(query, parts.bases);
  if (query.profile == nullptr) return;
  const Tokens profile{query.profile, query.tokens.length, kProfileWidth};
  for (uint32_t strip = 0; strip * Lanes::lanes < profile.length; ++strip) {
    Lanes::packProfile(profile, strip, parts.profiles + size_t{strip} * Lanes::profileStripBytes);
  }
}

template <class Narrow, class Wide>
void wavefrontPack(const AffineQuery& query, void* packed) {
  auto* to = static_cast<uint8_t*>(packed);
  packWidth<Narrow>(query, to);
  packWidth<Wide>(query, to + Parts<Narrow>::bytes(query.tokens));
}

template <class Narrow>
const uint8_t* packedWide(const AffineTask& task) {
  return static_cast<const uint8_t*>(task.query.packed) + Parts<Narrow>::bytes(task.query.tokens);
}

/* Scores with 16 bits, then with 32 if 16 do not hold the score. */
template <class Narrow, class Wide>
int32_t wavefrontScore(const AffineTask& task) {
  const auto* packed = static_cast<const uint8_t*>(task.query.packed);
  const int32_t score = Wavefront<Narrow>(task, packed).score();
  if (score < Narrow::largest) return score;
  return Wavefront<Wide>(task, packedWide<Narrow>(task)).score();
}

template <class Narrow, class Wide>
AffineAlignment wavefrontAlign(const AffineTask& task) {
  const auto* packed = static_cast<const uint8_t*>(task.query.packed);
  bool saturated = false;
  const AffineAlignment alignment = Wavefront<Narrow>(task, packed).align(&saturated);
  if (!saturated) return alignment;
  return Wavefront<Wide>(task, packedWide<Narrow>(task)).align(&saturated);
}

}  // namespace
}  // namespace gloaming

#endif
