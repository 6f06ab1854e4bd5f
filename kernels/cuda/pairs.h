/* Two int16 in one register. Every dot product fits in int16 (see kernels.h), so maxima stay exact. From compute
 * capability 9.0 on, a maximum of pairs is one instruction; before, it is several. */
#ifndef GLOAMING_CUDA_PAIRS_H
#define GLOAMING_CUDA_PAIRS_H

#include "cuda/layout.h"

namespace gloaming {
namespace cuda {

/** Below every dot product, twice and once. */
constexpr uint32_t kLeastPair = 0x80008000u;
constexpr uint32_t kLeastWord = 0xffff8000u;

GLOAMING_BOTH int32_t lowOf(uint32_t pair) { return static_cast<int16_t>(pair & 0xffff); }
GLOAMING_BOTH int32_t highOf(uint32_t pair) { return static_cast<int16_t>(pair >> 16); }

/** The low halves of two words. */
GLOAMING_BOTH uint32_t joinLow(uint32_t low, uint32_t high) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(low, high, 0x5410);
#else
  return (low & 0xffff) | high << 16;
#endif
}
/** The high halves of two words. */
GLOAMING_BOTH uint32_t joinHigh(uint32_t low, uint32_t high) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(low, high, 0x7632);
#else
  return low >> 16 | (high & 0xffff0000u);
#endif
}
GLOAMING_BOTH uint32_t largerPair(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __vmaxs2(a, b);
#else
  const int32_t low = lowOf(a) > lowOf(b) ? lowOf(a) : lowOf(b), high = highOf(a) > highOf(b) ? highOf(a) : highOf(b);
  return joinLow(static_cast<uint32_t>(low), static_cast<uint32_t>(high));
#endif
}
/** One instruction on Hopper. */
GLOAMING_BOTH uint32_t largestPair(uint32_t a, uint32_t b, uint32_t c) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return __vimax3_s16x2(a, b, c);
#else
  return largerPair(largerPair(a, b), c);
#endif
}

GLOAMING_BOTH uint32_t largerWord(uint32_t a, uint32_t b) {
  const int32_t left = static_cast<int32_t>(a), right = static_cast<int32_t>(b);
  return static_cast<uint32_t>(left > right ? left : right);
}
/** One instruction on Hopper. */
GLOAMING_BOTH uint32_t largestWord(uint32_t a, uint32_t b, uint32_t c) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return static_cast<uint32_t>(__vimax3_s32(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c)));
#else
  return largerWord(largerWord(a, b), c);
#endif
}

/** sum + both halves; one instruction. */
GLOAMING_BOTH uint32_t addHalves(uint32_t pair, uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return static_cast<uint32_t>(__dp2a_lo(static_cast<int>(pair), 0x0101, static_cast<int>(sum)));
#else
  return sum + static_cast<uint32_t>(lowOf(pair) + highOf(pair));
#endif
}
/** Σ of the selected halves: the low one if lowCounts, the high one if highCounts. */
GLOAMING_BOTH int32_t sumOfCounted(uint32_t pair, bool lowCounts, bool highCounts) {
  return (lowCounts ? lowOf(pair) : 0) + (highCounts ? highOf(pair) : 0);
}

}  // namespace cuda
}  // namespace gloaming

#endif
