/* What both AVX2 kernels need. The saturating multiply of unsigned by signed bytes is wrong at full range, so both
 * sides are widened to int16 and vpmaddwd adds two exact products: a "pair" here is what a quad is in kernels.h. */
#ifndef GLOAMING_AVX2_MADD_H
#define GLOAMING_AVX2_MADD_H

#include <immintrin.h>

#include <cstring>

#include "kernels.h"

namespace gloaming {
namespace {

constexpr uint32_t kLanes = 8;  // 32-bit sums in a register

inline int32_t loadPair(const int16_t* values) {
  int32_t pair;
  std::memcpy(&pair, values, sizeof pair);
  return pair;
}

/* Writes one vector per pair, `stride` vectors apart; lane l takes the token that tokenOf(l) names. */
template <class TokenOf>
inline void packBlock(const Tokens& query, TokenOf tokenOf, int16_t* to, uint32_t stride) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t wanted = tokenOf(lane), token = wanted < query.length ? wanted : query.length - 1;
    const int8_t* row = query.values + size_t{token} * query.dimension;
    for (uint32_t pair = 0; pair < query.dimension / 2; ++pair) {
      const int16_t two[] = {row[pair * 2], row[pair * 2 + 1]};
      std::memcpy(to + (size_t{pair} * stride * kLanes + lane) * 2, two, sizeof two);
    }
  }
}

/* Rows as int16, row-major. */
inline void widenRows(const int8_t* rows, size_t count, int16_t* to) {
  for (size_t k = 0; k < count; k += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + k));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + k), _mm256_cvtepi8_epi16(bytes));
  }
}

/* sum += the exact dot product of two int16 pairs in each lane. In assembly, because GCC 12 copies and spills sums
 * around the intrinsics. */
inline __attribute__((always_inline)) void multiplyAdd(__m256i& sum, __m256i tokens, __m256i pair) {
  __m256i product;
  asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(product) : "x"(tokens), "x"(pair));
}

}  // namespace
}  // namespace gloaming

#endif
