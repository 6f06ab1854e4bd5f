/* Shared by the AVX-512 VNNI kernels: the biased query layout of kernels.h and the corrections that undo the bias.
 *
 * vpdpbusd multiplies unsigned by signed bytes. The query is stored as q + 128. An accumulator that starts at
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

inline int32_t loadQuad(const void* bytes) {
  int32_t quad;
  std::memcpy(&quad, bytes, sizeof quad);
  return quad;
}

/* sum += the four products of each lane. In assembly, because GCC 12 copies and spills sums around the intrinsic. */
inline __attribute__((always_inline)) void multiplyAdd(__m512i& sum, __m512i unsignedBytes, __m512i signedBytes) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsignedBytes), "v"(signedBytes));
}

/* Writes one vector per quad, `stride` vectors apart; lane l holds token tokenOf(l), with bits flipped. */
template <uint32_t kFlipped = 0x80808080, class TokenOf>
inline void packBlock(const Tokens& query, TokenOf tokenOf, uint8_t* to, uint32_t stride) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t wanted = tokenOf(lane), token = wanted < query.length ? wanted : query.length - 1;
    const int8_t* row = query.values + size_t{token} * query.dimension;
    for (uint32_t quad = 0; quad < query.dimension / 4; ++quad) {
      // Flipping the top bit of a byte adds 128.
      const uint32_t biased = static_cast<uint32_t>(loadQuad(row + quad * 4)) ^ kFlipped;
      std::memcpy(to + (size_t{quad} * stride * kLanes + lane) * 4, &biased, sizeof biased);
    }
  }
}

/* Reduces 16 vectors to one by `join`, a commutative operation: lane r is the reduction of vector r. 45 steps. */
template <class Join>
inline __attribute__((always_inline)) __m512i joinLanes(const __m512i (&rows)[16], Join join) {
  __m512i fours[4];  // each 128-bit part has four rows, joined over the lanes of that part
#pragma GCC unroll 4
  for (uint32_t q = 0; q < 4; ++q) {
    const __m512i a = rows[q * 4], b = rows[q * 4 + 1], c = rows[q * 4 + 2], d = rows[q * 4 + 3];
    const __m512i ab = join(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    const __m512i cd = join(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    fours[q] = join(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  }
  const auto fold = [join](__m512i a, __m512i b) {
    return join(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
  };
  return fold(fold(fours[0], fours[1]), fold(fours[2], fours[3]));
}

/* corrections[r] = −128 × Σ(row r) */
inline void correctRows(const int8_t* rows, uint32_t rowCount, uint32_t dimension, int32_t* corrections) {
  const __m512i ones = _mm512_set1_epi8(1);
  // The last load of a row may have only 32 bytes.
  const __mmask64 last = dimension % 64 == 0 ? ~__mmask64{0} : (__mmask64{1} << 32) - 1;
  for (uint32_t first = 0; first < rowCount; first += 16) {
    const uint32_t count = rowCount - first < 16 ? rowCount - first : 16;
    __m512i sums[16];
#pragma GCC unroll 16
    for (uint32_t r = 0; r < 16; ++r) {
      // A tail of fewer rows repeats its last one.
      const int8_t* row = rows + size_t{first + (r < count ? r : count - 1)} * dimension;
      sums[r] = _mm512_setzero_si512();
      uint32_t k = 0;
      for (; k + 64 < dimension; k += 64) multiplyAdd(sums[r], ones, _mm512_loadu_si512(row + k));
      multiplyAdd(sums[r], ones, _mm512_maskz_loadu_epi8(last, row + k));
    }
    const __m512i total = joinLanes(sums, [](__m512i a, __m512i b) { return _mm512_add_epi32(a, b); });
    const __m512i negated = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(total, 7));
    _mm512_mask_storeu_epi32(corrections + first, static_cast<__mmask16>((1u << count) - 1), negated);
  }
}

}  // namespace
}  // namespace gloaming

#endif
