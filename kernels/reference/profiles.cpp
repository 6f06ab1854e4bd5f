/* Profile score (profile_score.h): the best local alignment of two profiles with affine gaps.
 *
 *   pair, R  as in profile_score.h
 *   F(i,j) = max(H(i−1,j) − kProfileGapOpen, F(i−1,j) − kProfileGapExtend)
 *   E(i,j) = max(H(i,j−1) − kProfileGapOpen, E(i,j−1) − kProfileGapExtend)
 *   H(i,j) = max(0, pair, F, E)                     H = R = 0 outside the matrix, E = F = −∞
 *
 * Range   0..kMostProfileScore; a greater score counts as this one
 * Memory  three values per target residue
 */
#include <algorithm>
#include <vector>

#include "profile_score.h"
#include "reference/reference.h"

namespace gloaming {

int32_t referenceProfileScore(const AffineTask& task) {
  const uint32_t queryLength = task.query.tokens.length;
  std::vector<int32_t> H(task.targetLength, 0), F(task.targetLength, -kProfileGapOpen), R(task.targetLength, 0);
  int32_t best = 0;
  for (uint32_t i = 0; i < queryLength; ++i) {
    if (task.cancelled.load(std::memory_order_relaxed)) return 0;
    const int8_t* own = task.profiles.query + size_t{i} * kProfileWidth;
    int32_t diagonal = 0, support = 0, E = -kProfileGapOpen;
    for (uint32_t j = 0; j < task.targetLength; ++j) {
      const int32_t overlap = dotProduct(own, task.profiles.target + size_t{j} * kProfileWidth, kProfileValues);
      const int32_t score = ((profileLog(static_cast<uint32_t>(overlap)) * kProfileWeight) >> 16) - kProfileOffset;
      const int32_t bounded = std::max(score, kLeastSupport);
      const int32_t pair = diagonal + score + ((bounded * (1 << kPartnerShift) * support) >> 16);
      const int32_t h = std::max({0, pair, F[j], E});
      best = std::max(best, h);
      F[j] = std::max(h - kProfileGapOpen, F[j] - kProfileGapExtend);
      E = std::max(h - kProfileGapOpen, E - kProfileGapExtend);
      diagonal = H[j];
      H[j] = h;
      const int32_t before = support;
      support = R[j];
      R[j] = before - (before >> kDecayShift) + bounded * (1 << kSupportShift);
    }
  }
  return std::min(best, kMostProfileScore);
}

void referenceProfileScores(const AffineTask* tasks, uint32_t count, int32_t* scores) {
  for (uint32_t t = 0; t < count; ++t) scores[t] = referenceProfileScore(tasks[t]);
}

}  // namespace gloaming
