/* What both AVX-512 VNNI kernels need: the biased query layout of kernels.h and the corrections that undo the bias.
 *
 * vpdpbusd multiplies unsigned by signed bytes. The query is stored as q + 128, so that an accumulator that starts at
 * −128 × Σ(target row) ends at the exact dot product: Σ (q + 128) × t − 128 × Σ t = Σ q × t.
 */
#ifndef GLOAMING_AVX512_VNNI_H
#define GLOAMING_AVX512_VNNI_H

#include <immintrin.h>

#include <cstring>

#include "kernels.h"

namespace gloaming {
namespace {

constexpr uint32_t kLanes = 16;  // 32-bit sums in a register

inline int32_t loadQuad(const int8_t* bytes) {
  int32_t quad;
  std::memcpy(&quad, bytes, sizeof quad);
  return quad;
}

/* Writes one vector per quad, `stride` vectors apart; lane l takes the token that tokenOf(l) names. */
template <class TokenOf>
inline void packBlock(const Tokens& query, TokenOf tokenOf, uint8_t* to, uint32_t stride) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t wanted = tokenOf(lane), token = wanted < query.length ? wanted : query.length - 1;
    const int8_t* row = query.values + size_t{token} * query.dimension;
    for (uint32_t k = 0; k < query.dimension; ++k) {
      to[size_t{k / 4} * stride * 64 + lane * 4 + k % 4] = static_cast<uint8_t>(row[k] + 128);
    }
  }
}

/* corrections[r] = −128 × Σ(row r), eight rows at a time; reads up to seven rows beyond none: the tail repeats a row. */
inline void correctRows(const int8_t* rows, uint32_t rowCount, uint32_t dimension, int32_t* corrections) {
  const __m256i ones = _mm256_set1_epi8(1);
  for (uint32_t first = 0; first < rowCount; first += 8) {
    __m256i sums[8];
#pragma GCC unroll 8
    for (uint32_t r = 0; r < 8; ++r) {
      const uint32_t row = first + r < rowCount ? first + r : rowCount - 1;
      sums[r] = _mm256_setzero_si256();
      for (uint32_t k = 0; k < dimension; k += 32) {
        const auto* bytes = reinterpret_cast<const __m256i*>(rows + size_t{row} * dimension + k);
        sums[r] = _mm256_dpbusd_epi32(sums[r], ones, _mm256_loadu_si256(bytes));
      }
    }
    const __m256i low = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
    const __m256i high = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[4], sums[5]), _mm256_hadd_epi32(sums[6], sums[7]));
    const __m256i total = _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20),
                                           _mm256_permute2x128_si256(low, high, 0x31));
    const uint32_t count = rowCount - first < 8 ? rowCount - first : 8;
    const __m256i negated = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(total, 7));
    _mm256_mask_storeu_epi32(corrections + first, static_cast<__mmask8>((1u << count) - 1), negated);
  }
}

}  // namespace
}  // namespace gloaming

#endif
