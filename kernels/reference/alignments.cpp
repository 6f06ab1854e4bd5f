/* Several local alignments of one pair: the definition, with every tie fixed.
 *
 *   rectangle   query rows [queryStart, queryEnd) × target rows [targetStart, targetEnd); that of an alignment has its
 *               coordinates
 *   first       the alignment of reference/affine.cpp
 *   next        the best alignment of all maximal free rectangles. A rectangle is free if it shares no cell with the
 *               rectangle of an earlier alignment, and maximal if no other free rectangle contains it. The alignment of
 *               a rectangle is that of its query rows with its target rows by reference/affine.cpp
 *   end         the first next score below leastScore, or maxCount alignments. isCut says whether another alignment
 *               with at least leastScore follows the last
 *
 * Two alignments may use the same query rows with different target rows, as the repeats of a target do. They may use
 * the same target rows with different query rows. They may follow each other in any order, as in circular permutations.
 * They never overlap in both. A query of one domain so has disjoint stretches of the target, as in HMMER. Two proteins
 * of many domains have a stretch for each pair of domains, as BLAST's HSPs. Waterman & Eggert (1987) forbid used cells
 * only. A repeat protein then has an alignment for each shift by one repeat, almost all inside the first rectangle.
 *
 * Ties    equal scores: the smallest target end, then the smallest query end, target start and query start. Alignments
 *         of two rectangles with equal coordinates have equal paths, because both rectangles contain both paths and the
 *         walk back prefers the same one
 * Range   scores descend; leastScore 1..65,535 × 32,767; maxCount 1..kMaxAlignments
 * Errors  those of referenceAffineAlign
 * Cost    this function enumerates all rectangles; it is for tests of small pairs
 */
#include <algorithm>
#include <tuple>

#include "reference/reference.h"

namespace gloaming {
namespace {

struct Range {
  uint32_t start, end;
};

bool contains(const Range& outer, const Range& inner) { return outer.start <= inner.start && inner.end <= outer.end; }

struct Rectangle {
  Range query, target;

  bool contains(const Rectangle& other) const {
    return gloaming::contains(query, other.query) && gloaming::contains(target, other.target);
  }
  bool overlaps(const AffineAlignment& other) const {
    return query.start < other.queryEnd && other.queryStart < query.end && target.start < other.targetEnd &&
           other.targetStart < target.end;
  }
};

/* All ranges whose ends are 0, the length, or an end of an alignment. The sides of a maximal rectangle are of these. */
std::vector<Range> rangesBetween(std::vector<uint32_t> ends) {
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::vector<Range> ranges;
  for (const uint32_t start : ends) {
    for (const uint32_t end : ends) {
      if (start < end) ranges.push_back({start, end});
    }
  }
  return ranges;
}

std::vector<Rectangle> maximalFreeRectangles(const AffineTask& task, const std::vector<OwnedAlignment>& earlier) {
  std::vector<uint32_t> queryEnds{0, task.query.tokens.length}, targetEnds{0, task.targetLength};
  for (const auto& [fixed, runs] : earlier) {
    queryEnds.insert(queryEnds.end(), {fixed.queryStart, fixed.queryEnd});
    targetEnds.insert(targetEnds.end(), {fixed.targetStart, fixed.targetEnd});
  }
  std::vector<Rectangle> free;
  for (const Range& query : rangesBetween(queryEnds)) {
    for (const Range& target : rangesBetween(targetEnds)) {
      const Rectangle wanted{query, target};
      const auto isMet = [&wanted](const OwnedAlignment& one) { return wanted.overlaps(one.fixed); };
      if (std::none_of(earlier.begin(), earlier.end(), isMet)) free.push_back(wanted);
    }
  }
  std::vector<Rectangle> maximal;
  for (const Rectangle& one : free) {
    const auto count = std::count_if(free.begin(), free.end(), [&one](const Rectangle& r) { return r.contains(one); });
    if (count == 1) maximal.push_back(one);
  }
  return maximal;
}

OwnedAlignment alignRectangle(const AffineTask& task, const Rectangle& part) {
  const Tokens own = rowsOfTokens(task.query.tokens, part.query.start, part.query.end - part.query.start);
  const PackedQuery query{own, own.values};
  OwnedAlignment alignment(referenceAffineAlign(
      partOfTask(task, query, part.query.start, part.target.start, part.target.end - part.target.start)));
  alignment.move(part.query.start, part.target.start);
  return alignment;
}

}  // namespace

OwnedAlignment::OwnedAlignment(const AffineAlignment& alignment)
    : fixed(alignment), runs(alignment.runs, alignment.runs + alignment.runCount) {
  fixed.runs = nullptr;
}

void OwnedAlignment::move(uint32_t queryRows, uint32_t targetRows) {
  fixed.queryStart += queryRows;
  fixed.queryEnd += queryRows;
  fixed.targetStart += targetRows;
  fixed.targetEnd += targetRows;
}

bool OwnedAlignment::comesBefore(const OwnedAlignment& other) const {
  const auto key = [](const AffineAlignment& a) {
    return std::make_tuple(-int64_t{a.score}, a.targetEnd, a.queryEnd, a.targetStart, a.queryStart);
  };
  return key(fixed) < key(other.fixed);
}

Tokens rowsOfTokens(const Tokens& tokens, uint32_t first, uint32_t count) {
  return {tokens.values + size_t{first} * tokens.dimension, count, tokens.dimension};
}

AffineTask partOfTask(const AffineTask& task, const PackedQuery& query, uint32_t queryStart, uint32_t targetStart,
                      uint32_t targetLength) {
  const auto profileFrom = [](const int8_t* profile, uint32_t row) {
    return profile == nullptr ? nullptr : profile + size_t{row} * kProfileWidth;
  };
  return {query,
          task.target + size_t{targetStart} * task.query.tokens.dimension,
          targetLength,
          {task.letters.query + queryStart, task.letters.target + targetStart},
          {profileFrom(task.profiles.query, queryStart), profileFrom(task.profiles.target, targetStart)},
          task.parameters,
          task.workspace,
          task.cancelled};
}

AlignmentList referenceAffineAlignAll(const AffineTask& task, int32_t leastScore, uint32_t maxCount) {
  AlignmentList found;
  const Rectangle whole{{0, task.query.tokens.length}, {0, task.targetLength}};
  found.alignments.push_back(alignRectangle(task, whole));
  if (found.alignments[0].fixed.score == 0) return found;
  while (true) {
    OwnedAlignment best;
    for (const Rectangle& part : maximalFreeRectangles(task, found.alignments)) {
      const OwnedAlignment alignment = alignRectangle(task, part);
      if (alignment.fixed.score >= leastScore && alignment.comesBefore(best)) best = alignment;
    }
    if (best.fixed.score == 0) return found;
    if (found.alignments.size() == maxCount) {
      found.isCut = true;
      return found;
    }
    found.alignments.push_back(best);
  }
}

}  // namespace gloaming
