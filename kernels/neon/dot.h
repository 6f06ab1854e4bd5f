/* Shared by the NEON kernels. sdot multiplies signed bytes, so the query is stored unbiased. One register holds four
 * target quads, and the instruction broadcasts one of them. */
#ifndef GLOAMING_NEON_DOT_H
#define GLOAMING_NEON_DOT_H

#include <arm_neon.h>

#include "kernels.h"

namespace gloaming {
namespace {

constexpr uint32_t kLanes = 4;  // 32-bit sums in a register

/* Writes kBlocks × 4 tokens from `first` on: per quad, one vector of each block. */
template <uint32_t kBlocks>
inline void packBlocks(const Tokens& query, uint32_t first, int8_t* to) {
  for (uint32_t lane = 0; lane < kBlocks * kLanes; ++lane) {
    const uint32_t token = first + lane < query.length ? first + lane : query.length - 1;
    const int8_t* row = query.values + size_t{token} * query.dimension;
    for (uint32_t k = 0; k < query.dimension; ++k) to[size_t{k / 4} * kBlocks * 16 + lane * 4 + k % 4] = row[k];
  }
}

/* sums[b][r] += quad `kQuad` of the 16 target bytes of each row × that quad of each block. */
template <uint32_t kQuad, uint32_t kBlocks, uint32_t kRows>
inline __attribute__((always_inline)) void multiplyQuad(const int8_t* query, const int8x16_t (&bytes)[kRows],
                                                        int32x4_t (&sums)[kBlocks][kRows]) {
#pragma GCC unroll 4
  for (uint32_t b = 0; b < kBlocks; ++b) {
    const int8x16_t tokens = vld1q_s8(query + (kQuad * kBlocks + b) * 16);
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kRows; ++r) sums[b][r] = vdotq_laneq_s32(sums[b][r], tokens, bytes[r], kQuad);
  }
}

/* Dot products of kBlocks × 4 packed tokens with kRows rows. */
template <uint32_t kBlocks, uint32_t kRows>
inline __attribute__((always_inline)) void multiplyRows(const int8_t* query, const int8_t* rows, uint32_t dimension,
                                                        int32x4_t (&sums)[kBlocks][kRows]) {
#pragma GCC unroll 4
  for (uint32_t b = 0; b < kBlocks; ++b) {
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kRows; ++r) sums[b][r] = vdupq_n_s32(0);
  }
  for (uint32_t k = 0; k < dimension; k += 16) {
    int8x16_t bytes[kRows];
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kRows; ++r) bytes[r] = vld1q_s8(rows + size_t{r} * dimension + k);
    multiplyQuad<0>(query, bytes, sums);
    multiplyQuad<1>(query, bytes, sums);
    multiplyQuad<2>(query, bytes, sums);
    multiplyQuad<3>(query, bytes, sums);
    query += kBlocks * 64;
  }
}

}  // namespace
}  // namespace gloaming

#endif
