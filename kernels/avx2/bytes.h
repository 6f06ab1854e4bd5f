/* Products of bytes, shared by the AVX2 kernels.
 *
 * vpmaddubsw multiplies unsigned by signed bytes and adds two products in 16 bits. One side is stored as t + 128, the
 * other, the signed one, as it is. Sums wrap modulo 2^16. A sum starts at the correction −128 × Σ(signed row). It ends
 * at the exact dot product, which fits in 16 bits (kernels.h): Σ q × (t + 128) − 128 × Σ q = Σ q × t.
 *
 * Only the sum of two products saturates: it is exact if the positive and the negative bytes of the signed pair each
 * sum to −128..128, as 255 × 128 ≤ 32,767. Another pair is wide. The affine kernels split it: a quad (kernels.h) keeps
 * the first byte of a wide pair, and an extra quad, which is multiplied with the same quad of the other side, has the
 * second one. A wide pair has a squared norm of at least 64² + 65², so a row has at most three. The memory of the extra
 * quads suffices for any bytes. */
#ifndef GLOAMING_AVX2_BYTES_H
#define GLOAMING_AVX2_BYTES_H

#include <immintrin.h>

#include <cstring>

#include "kernels.h"

namespace gloaming {
namespace {

inline int32_t loadQuad(const void* bytes) {
  int32_t quad;
  std::memcpy(&quad, bytes, sizeof quad);
  return quad;
}

/* Whether the sum of two products of such a pair with bytes of 0..255 can saturate. */
inline bool isWide(int32_t a, int32_t b) {
  const auto positive = [](int32_t value) { return value > 0 ? value : 0; };
  return positive(a) + positive(b) > 128 || positive(-a) + positive(-b) > 128;
}

/* Splits the wide pairs of a quad. Returns the extra quad, of zeros if no pair is wide. */
inline int32_t splitQuad(int8_t* quad) {
  int8_t extra[4] = {};
  for (uint32_t k = 0; k < 4; k += 2) {
    if (!isWide(quad[k], quad[k + 1])) continue;
    extra[k + 1] = quad[k + 1];
    quad[k + 1] = 0;
  }
  return loadQuad(extra);
}

/* The lower 16 bits of the correction of a row of signed bytes. */
inline int32_t correctionOf(int32_t sum) { return static_cast<uint16_t>(-128 * sum); }

/* to = from + 128; bytes: a multiple of 32. */
inline void biasBytes(const int8_t* from, size_t bytes, int8_t* to) {
  // Flipping the top bit of a byte adds 128.
  const __m256i bias = _mm256_set1_epi8(-128);
  for (size_t k = 0; k < bytes; k += 32) {
    const __m256i own = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + k));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + k), _mm256_xor_si256(own, bias));
  }
}

/* sum += two products in each lane. In assembly, because GCC 12 copies and spills sums around the intrinsics. */
inline __attribute__((always_inline)) void multiplyAdd(__m256i& sum, __m256i unsignedBytes, __m256i signedBytes) {
  __m256i product;
  asm("vpmaddubsw %2, %3, %1\n\tvpaddw %1, %0, %0" : "+x"(sum), "=&x"(product) : "x"(signedBytes), "x"(unsignedBytes));
}

/** The side with bytes of 0..255. */
enum class Unsigned { kVectors, kRows };

/* Adds to the sums the products of a quad of four rows, `stride` bytes apart, with kBlocks vectors of quads. */
template <Unsigned kUnsigned, uint32_t kBlocks>
inline __attribute__((always_inline)) void multiplyQuad(const __m256i* vectors, const int8_t* rows, size_t stride,
                                                        __m256i (&sums)[kBlocks][4]) {
  __m256i own[kBlocks];
#pragma GCC unroll 2
  for (uint32_t b = 0; b < kBlocks; ++b) own[b] = _mm256_load_si256(vectors + b);
#pragma GCC unroll 4
  for (uint32_t r = 0; r < 4; ++r) {
    const __m256i quad = _mm256_set1_epi32(loadQuad(rows + r * stride));
#pragma GCC unroll 2
    for (uint32_t b = 0; b < kBlocks; ++b) {
      if constexpr (kUnsigned == Unsigned::kVectors) multiplyAdd(sums[b][r], own[b], quad);
      else multiplyAdd(sums[b][r], quad, own[b]);
    }
  }
}

/* The same for all quads of the rows; quads: a multiple of 8. */
template <Unsigned kUnsigned, uint32_t kBlocks>
inline __attribute__((always_inline)) void multiplyQuads(const __m256i* vectors, const int8_t* rows, size_t stride,
                                                         uint32_t quads, __m256i (&sums)[kBlocks][4]) {
  for (const __m256i* end = vectors + size_t{quads} * kBlocks; vectors < end; vectors += 4 * kBlocks, rows += 16) {
#pragma GCC unroll 4
    for (uint32_t q = 0; q < 4; ++q) multiplyQuad<kUnsigned>(vectors + q * kBlocks, rows + 4 * q, stride, sums);
  }
}

/* Joins both sums of each quad: lane 2 × l of the result is that of lane l of a, the next one that of b. */
inline __m256i joinHalves(__m256i a, __m256i b) {
  const __m256i swapped = _mm256_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 2, 3, 0, 1, 6, 7, 4, 5,
                                           10, 11, 8, 9, 14, 15, 12, 13);
  const __m256i others = _mm256_shuffle_epi8(_mm256_blend_epi16(b, a, 0xaa), swapped);
  return _mm256_add_epi16(_mm256_blend_epi16(a, b, 0xaa), others);
}

/* Scores of pairs of profiles from both sums of their quads, in the lanes of joinHalves. */
inline __attribute__((always_inline)) __m256i profileScores(__m256i a, __m256i b, __m256i weight) {
  const auto bits = [](__m256i halves) {
    const __m256i x = _mm256_madd_epi16(halves, _mm256_set1_epi16(1));
    return _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_add_epi32(x, _mm256_set1_epi32(1))));
  };
  // L (kernels.h) moves from the bits 13 to 28 to the lower half for a, to the upper half for b.
  const __m256i even = _mm256_srli_epi32(bits(a), 13), odd = _mm256_slli_epi32(bits(b), 3);
  return _mm256_mulhi_epi16(_mm256_blend_epi16(even, odd, 0xaa), weight);
}

/* Adds to eight rows the scores of 16 packed profiles with eight profiles. Block b of each quad has the profiles of the
 * lanes 2 × l + b. All partial sums fit in 16 bits (kernels.h). */
inline __attribute__((always_inline)) void addProfileRows(const __m256i* packed, const int8_t* profiles, __m256i weight,
                                                          __m256i (&rows)[8]) {
#pragma GCC unroll 2
  for (uint32_t half = 0; half < 8; half += 4) {
    const int8_t* own = profiles + half * kProfileWidth;
    __m256i sums[2][4];
#pragma GCC unroll 4
    for (uint32_t r = 0; r < 4; ++r) {
      const __m256i quad = _mm256_set1_epi32(loadQuad(own + r * kProfileWidth));
      sums[0][r] = _mm256_maddubs_epi16(packed[0], quad);
      sums[1][r] = _mm256_maddubs_epi16(packed[1], quad);
    }
#pragma GCC unroll 5
    for (uint32_t q = 1; q < kProfileValues / 4; ++q) {
      multiplyQuad<Unsigned::kVectors>(packed + q * 2, own + q * 4, kProfileWidth, sums);
    }
#pragma GCC unroll 4
    for (uint32_t r = 0; r < 4; ++r) {
      rows[half + r] = _mm256_add_epi16(rows[half + r], profileScores(sums[0][r], sums[1][r], weight));
    }
  }
}

}  // namespace
}  // namespace gloaming

#endif
