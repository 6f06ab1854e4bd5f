/* Best local alignment with affine gaps: the definition of score, end points and path, with every tie fixed.
 *
 *   s(i,j) = ((dot(query i, target j) × multiplier) >> 16) − offset + letterScore(query i, target j)
 *            + ((L(profile i · profile j) × profileWeight) >> 16), where profiles score; L is profileLog below
 *   pair   = H(i−1,j−1) + s(i,j)
 *   F(i,j) = max(H(i−1,j) − gapOpen, F(i−1,j) − gapExtend)      insertion: query residue i faces a gap
 *   E(i,j) = max(H(i,j−1) − gapOpen, E(i,j−1) − gapExtend)      deletion: target residue j faces a gap
 *   H(i,j) = max(0, pair, F, E)                                 H = 0 outside the matrix, E = F = −∞
 *
 * Ties    the end is the cell of the best H with the smallest j, then the smallest i. The walk back from H(i,j) stops
 *         if H is 0, else takes pair if it equals H, else insertion if F equals H, else deletion. It leaves a gap for
 *         H as soon as opening the gap there costs no more than extending it (opening is preferred to extension).
 * Range   dots fit in int16, letterScore − offset ≤ 16,384: s ≤ 32,767 and H ≤ 65,535 × 32,767 < 2^31. Profiles score
 *         −512..7,168, but with them letterScore − offset is at most 8,319
 * Memory  score: two values per target residue; align: one byte per cell, so pairs over 2^30 cells are refused here
 * Errors  std::length_error if a pair has more than 2^30 cells
 * Source  Smith & Waterman 1981, Gotoh 1982
 */
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "reference/reference.h"
#include "engine/workspace.h"

namespace gloaming {
namespace {

enum Cell : uint8_t { kPositive = 1, kIsPair = 2, kIsInsertion = 4, kInsertionOpens = 8, kDeletionOpens = 16 };

/** One residue: its token, its letter, and its row of a profile, which is null where profiles score nothing. */
struct Residue {
  const int8_t* token;
  uint8_t letter;
  const int8_t* profile;
};

const int8_t* profileRow(const int8_t* profile, uint32_t i) {
  return profile == nullptr ? nullptr : profile + size_t{i} * kProfileWidth;
}

/* s(i,j) of the comment above. */
int32_t substitutionScore(const Residue& query, const Residue& target, uint32_t dimension,
                          const AffineParameters& parameters) {
  const int32_t dot = dotProduct(query.token, target.token, dimension);
  int32_t score = ((dot * parameters.multiplier) >> 16) - parameters.offset;
  score += parameters.letterScore(query.letter, target.letter);
  if (parameters.profileWeight == 0) return score;
  const int32_t overlap = dotProduct(query.profile, target.profile, kProfileValues);
  return score + ((profileLog(static_cast<uint32_t>(overlap)) * parameters.profileWeight) >> 16);
}

struct Best {
  int32_t score = 0;
  uint32_t i = 0, j = 0;
};

/* Fills the matrix row by row; cells (may be null) gets one byte of Cell flags per cell, row-major. */
Best fill(const AffineTask& task, uint8_t* cells) {
  const auto [query, queryLength, dimension] = task.query.tokens;
  const AffineParameters& parameters = task.parameters;
  const int32_t gapOpen = parameters.gapOpen, gapExtend = parameters.gapExtend;
  std::vector<int32_t> H(task.targetLength, 0), F(task.targetLength, -gapOpen);
  Best best;
  for (uint32_t i = 0; i < queryLength; ++i) {
    if (task.cancelled.load(std::memory_order_relaxed)) return {};
    const Residue own{query + size_t{i} * dimension, task.letters.query[i], profileRow(task.profiles.query, i)};
    int32_t diagonal = 0, E = -gapOpen;
    for (uint32_t j = 0; j < task.targetLength; ++j) {
      const Residue other{task.target + size_t{j} * dimension, task.letters.target[j],
                          profileRow(task.profiles.target, j)};
      const int32_t pair = diagonal + substitutionScore(own, other, dimension, parameters);
      const int32_t h = std::max({0, pair, F[j], E});
      const bool insertionOpens = h - gapOpen >= F[j] - gapExtend, deletionOpens = h - gapOpen >= E - gapExtend;
      if (cells != nullptr) {
        cells[size_t{i} * task.targetLength + j] =
            (h > 0 ? kPositive : 0) | (h == pair ? kIsPair : 0) | (h == F[j] ? kIsInsertion : 0) |
            (insertionOpens ? kInsertionOpens : 0) | (deletionOpens ? kDeletionOpens : 0);
      }
      if (h > best.score || (h == best.score && h > 0 && j < best.j)) best = {h, i, j};
      F[j] = insertionOpens ? h - gapOpen : F[j] - gapExtend;
      E = deletionOpens ? h - gapOpen : E - gapExtend;
      diagonal = H[j];
      H[j] = h;
    }
  }
  return best;
}

}  // namespace

int32_t profileLog(uint32_t dot) {
  const uint32_t value = dot + 1;
  int32_t exponent = 0;
  while (value >> (exponent + 1) != 0) ++exponent;
  return 1'024 * (exponent - 2) + static_cast<int32_t>(value << 10 >> exponent);
}

/* Self-score: Σ max(0, s(i,i)) over the residues of a protein. With gaps that cost more than any run of negative
 * scores, it is the affine score of the protein with itself.
 *
 * Shape   query.tokens [length × dimension], int8, row-major; letters [length], read where letters score; profile
 *         [length × kProfileWidth], read where profiles score
 * Range   0..65,535 × 32,767 < 2^31
 * Unit    that of s(i,j)
 */
int32_t selfScore(const AffineQuery& query) {
  const auto& [tokens, letters, profile, parameters] = query;
  int32_t sum = 0;
  for (uint32_t i = 0; i < tokens.length; ++i) {
    const uint8_t letter = parameters.letterScores == nullptr ? 0 : letters[i];
    const Residue own{tokens.values + size_t{i} * tokens.dimension, letter, profileRow(profile, i)};
    sum += std::max(0, substitutionScore(own, own, tokens.dimension, parameters));
  }
  return sum;
}

int32_t referenceAffineScore(const AffineTask& task) { return fill(task, nullptr).score; }

AffineAlignment referenceAffineAlign(const AffineTask& task) {
  const size_t width = task.targetLength, cellCount = task.query.tokens.length * width;
  if (cellCount > size_t{1} << 30) throw std::length_error("the reference kernels align at most 2^30 cells");
  auto* cells = static_cast<uint8_t*>(task.workspace.reserve(Workspace::kFlags, cellCount));
  const Best best = fill(task, cells);
  if (best.score == 0) return {};

  std::vector<uint32_t> runs;  // from the end to the start
  const auto emit = [&runs](Run kind) {
    if (!runs.empty() && (runs.back() & 3) == kind) runs.back() += 4;
    else runs.push_back(4 | kind);
  };
  int64_t i = best.i, j = best.j;
  Run state = kPair;
  while (i >= 0 && j >= 0) {
    const uint8_t cell = cells[i * width + j];
    // A gap ends in the cell before it if opening it there is as good as extending it.
    if (state == kInsertion && (cell & kInsertionOpens) != 0) state = kPair;
    if (state == kDeletion && (cell & kDeletionOpens) != 0) state = kPair;
    if (state == kPair) {
      if ((cell & kPositive) == 0) break;
      if ((cell & kIsPair) == 0) state = (cell & kIsInsertion) != 0 ? kInsertion : kDeletion;
    }
    emit(state);
    if (state != kDeletion) --i;
    if (state != kInsertion) --j;
  }
  std::reverse(runs.begin(), runs.end());
  auto* kept = static_cast<uint32_t*>(task.workspace.reserve(Workspace::kRuns, runs.size() * sizeof(uint32_t)));
  std::copy(runs.begin(), runs.end(), kept);
  return {best.score, static_cast<uint32_t>(i + 1),      best.i + 1, static_cast<uint32_t>(j + 1), best.j + 1,
          kept,       static_cast<uint32_t>(runs.size())};
}

}  // namespace gloaming
