/* Selection of the best results on the host: exact for all lengths, and independent of the split over GPUs. */
#ifndef GLOAMING_CUDA_BEST_H
#define GLOAMING_CUDA_BEST_H

#include <algorithm>
#include <vector>

#include "cuda/select.h"

namespace gloaming {
namespace cuda {

/** The best results of one query, nearest first, ties by item, including all ties with the last wanted one. */
using Best = std::vector<Found>;

/* Returns the best `wanted` results, and all ties with the last of them.
 * Calls   lengthOf(item): rows of that target
 * Source  rank order of cuda/select.h: (Sqt·Lt + Lq·Stq) / Lt, compared crosswise: under 2^65 in magnitude */
template <class LengthOf>
Best keepBest(Best found, LengthOf lengthOf, uint32_t queryLength, uint32_t wanted) {
  const auto compare = [&](const Found& a, const Found& b) {
    const auto numerator = [&](const Found& one) {
      return __int128{one.queryToTarget} * lengthOf(one.item) + __int128{one.targetToQuery} * queryLength;
    };
    const __int128 left = numerator(a) * lengthOf(b.item), right = numerator(b) * lengthOf(a.item);
    return left == right ? 0 : left > right ? -1 : 1;
  };
  std::sort(found.begin(), found.end(), [&compare](const Found& a, const Found& b) {
    const int order = compare(a, b);
    return order != 0 ? order < 0 : a.item < b.item;
  });
  size_t count = std::min<size_t>(wanted, found.size());
  while (count > 0 && count < found.size() && compare(found[count], found[wanted - 1]) == 0) ++count;
  found.resize(count);
  return found;
}

}  // namespace cuda
}  // namespace gloaming

#endif
