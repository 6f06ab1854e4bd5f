/* Shared by the affine AVX2 kernels, which need sums of 32 bits. Both sides are widened to int16, and vpmaddwd adds two
 * exact products: a "pair" takes the place of a quad in kernels.h. */
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

/* A row of the query; beyond its end, the last row. */
inline const int8_t* rowAt(const Tokens& query, uint32_t token) {
  return query.values + size_t{token < query.length ? token : query.length - 1} * query.dimension;
}

/* Writes one vector per pair, `stride` vectors apart; lane l holds token tokenOf(l). */
template <class TokenOf>
inline void packBlock(const Tokens& query, TokenOf tokenOf, int16_t* to, uint32_t stride) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const int8_t* row = rowAt(query, tokenOf(lane));
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

/* Lane l of the result: L (kernels.h) of the lane's sum, which is x + 1. */
inline __m256i profileLogs(__m256i sums) {
  const __m256i even = _mm256_blend_epi16(sums, _mm256_setzero_si256(), 0xaa), odd = _mm256_srli_epi32(sums, 16);
  const auto bits = [](__m256i x) { return _mm256_castps_si256(_mm256_cvtepi32_ps(x)); };
  return _mm256_blend_epi16(_mm256_srli_epi32(bits(even), 13), _mm256_slli_epi32(bits(odd), 3), 0xaa);
}

/* Adds to eight rows the scores of 16 packed profiles with eight profiles: vector p holds the p-th pair of bytes of
 * each. All partial sums fit in 16 bits (kernels.h). */
inline __attribute__((always_inline)) void addProfileRows(const __m256i* packed, const int8_t* profiles, __m256i weight,
                                                          __m256i (&rows)[8]) {
#pragma GCC unroll 8
  for (uint32_t r = 0; r < 8; ++r) {
    const int8_t* profile = profiles + r * kProfileWidth;
    __m256i sums = _mm256_set1_epi16(1);
#pragma GCC unroll 10
    for (uint32_t k = 0; k < kProfileValues; k += 2) {
      int16_t pair;
      std::memcpy(&pair, profile + k, sizeof pair);
      sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(_mm256_load_si256(packed + k / 2), _mm256_set1_epi16(pair)));
    }
    rows[r] = _mm256_add_epi16(rows[r], _mm256_mulhi_epi16(profileLogs(sums), weight));
  }
}

}  // namespace
}  // namespace gloaming

#endif
