/* The best of many targets, chosen on the device.
 *
 * Rank order is that of src/search/rank.ts: the larger (Sqt·Lt + Lq·Stq) / Lt the nearer (S the sums, L the lengths).
 * Two different fractions with denominators up to 2^b differ by at least 2^-2b. So the integer part of the fraction
 * × 2^2b has the same order and the same ties, and 64 bits are compared instead of fractions. All ties with the last
 * chosen target are included, because the caller breaks ties by the targets' names. */
#ifndef GLOAMING_CUDA_SELECT_H
#define GLOAMING_CUDA_SELECT_H

#include "cuda/layout.h"

namespace gloaming {
namespace cuda {

constexpr uint32_t kDigitBits = 8, kDigits = 1 << kDigitBits, kDigitCount = 64 / kDigitBits;

/** Bits by which a fraction is scaled: twice those of the longest target's length. */
inline uint32_t rankShift(uint32_t longestTarget) {
  uint32_t bits = 0;
  while ((uint64_t{1} << bits) < longestTarget) ++bits;
  return 2 * bits;
}
/** Whether the keys of such a search fit in 64 bits. If not, all sums are copied to the host and ranked there. */
inline bool hasRankKeys(uint32_t queryLength, uint32_t longestTarget) {
  const uint64_t largest = uint64_t{2} * queryLength * 32'767 + 1;
  return largest < uint64_t{1} << (63 - rankShift(longestTarget));
}

/* Returns a key that ascends with nearness, as an unsigned number. */
GLOAMING_BOTH uint64_t rankKey(int32_t queryToTarget, int32_t targetToQuery, uint32_t queryLength,
                               uint32_t targetLength, uint32_t shift) {
  const int64_t length = targetLength;
  const int64_t numerator = queryToTarget * length + targetToQuery * static_cast<int64_t>(queryLength);
  int64_t quotient = numerator / length, rest = numerator % length;
  if (rest < 0) {
    --quotient;
    rest += length;
  }
  const int64_t key = quotient * (int64_t{1} << shift) + (rest << shift) / length;
  return static_cast<uint64_t>(key) ^ (uint64_t{1} << 63);
}

/** The last chosen key begins with prefix; `wanted` is its rank among the keys with that prefix. */
struct SelectState {
  uint64_t prefix;
  uint32_t wanted;
};
struct Found {
  /** Place in the list. */
  uint32_t item;
  int32_t queryToTarget, targetToQuery;
};

struct SelectTask {
  const int32_t* queryToTarget;
  const int32_t* targetToQuery;
  const uint32_t* lengths;
  const uint32_t* eligible;
  uint32_t itemCount, queryLength, shift;
  uint64_t* keys;
  uint32_t* histogram;
  SelectState* state;
  Found* found;
  /** Counts all chosen targets, even beyond the list's capacity. */
  uint32_t* foundCount;
  uint32_t foundRoom;
};

GLOAMING_BOTH void writeKey(const SelectTask& task, uint32_t item) {
  const uint32_t target = task.eligible == nullptr ? item : task.eligible[item];
  task.keys[item] =
      rankKey(task.queryToTarget[item], task.targetToQuery[item], task.queryLength, task.lengths[target], task.shift);
}
GLOAMING_BOTH uint32_t digitOf(uint64_t key, uint32_t digit) {
  return static_cast<uint32_t>(key >> (64 - kDigitBits * (digit + 1))) % kDigits;
}
/** Whether the digits before this one are those of the state. */
GLOAMING_BOTH bool beginsLike(uint64_t key, uint64_t prefix, uint32_t digit) {
  return digit == 0 || (key ^ prefix) >> (64 - kDigitBits * digit) == 0;
}
/* Fixes a digit of the last chosen key from the histogram of that digit over the keys with its prefix. */
GLOAMING_BOTH SelectState pickDigit(const uint32_t* histogram, SelectState state, uint32_t digit) {
  uint32_t value = kDigits - 1;
  while (value > 0 && histogram[value] < state.wanted) state.wanted -= histogram[value--];
  state.prefix |= static_cast<uint64_t>(value) << (64 - kDigitBits * (digit + 1));
  return state;
}

}  // namespace cuda
}  // namespace gloaming

#endif
