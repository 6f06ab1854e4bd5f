/* The register tile of MaxSim: 16 × kBlocks query tokens × 8 target rows, maxima included, in assembly.
 *
 * The work per quad is 2 query vectors, 8 broadcasts and 16 multiply-adds (kBlocks = 2), so the two multiply pipes are
 * the limit; loads and maxima run beside them. On Zen 5 the assembly reaches 95 to 98 % of the pipes' peak. GCC 12
 * spilled or copied sums around the intrinsic (40 to 80 %), so the plain twins below multiply by a one-instruction asm.
 * On Zen 4 the twin of MaxSim then reaches 99 % of the assembly's rate (kernels-bench).
 *
 * `objdump -dC kernels-bench` prints the expanded assembly, in maxsimRows<(TileCode)0>.
 *
 *   zmm0–7, 8–15, 16–23   sums of block 0, 1, 2 with row 0 … 7
 *   zmm24–26              one quad of each block           zmm27   one quad of a row, broadcast
 *   zmm29–31              best of each query token so far
 */
#ifndef GLOAMING_AVX512_TILE_H
#define GLOAMING_AVX512_TILE_H

#include "avx512/vnni.h"
#include "skew.h"

namespace gloaming {
namespace {

/** Target rows as t + 128, and for each row the best dot product of each lane. */
struct Rows {
  const uint8_t* values;
  __m512i* best;
  uint32_t dimension;

  Rows from(uint32_t row) const { return {values + size_t{row} * dimension, best + row, dimension}; }
};

/** Blocks of query tokens, and the corrections of the rows' bias: for each token −128 × Σ(its bytes). */
struct Blocks {
  const __m512i* quads;
  const int32_t* corrections;
};

/** The code of a full tile: assembly, which the dispatcher chooses, or its plain twin, which tests and the bench
 * run. */
enum class TileCode { kAssembly, kIntrinsics };

// Assembly, one instruction a line.
// clang-format off
// The eight rows' addresses: two bases, four rows apart.
#define GLOAMING_EACH_ROW_1(DO) \
  DO("(%[low])", 0) DO("(%[low],%[row])", 1) DO("(%[low],%[row],2)", 2) DO("(%[low],%[row3])", 3) \
  DO("(%[high])", 4) DO("(%[high],%[row])", 5) DO("(%[high],%[row],2)", 6) DO("(%[high],%[row3])", 7)
#define GLOAMING_EACH_ROW_2(DO) \
  DO("(%[low])", 0, 8) DO("(%[low],%[row])", 1, 9) DO("(%[low],%[row],2)", 2, 10) DO("(%[low],%[row3])", 3, 11) \
  DO("(%[high])", 4, 12) DO("(%[high],%[row])", 5, 13) DO("(%[high],%[row],2)", 6, 14) \
  DO("(%[high],%[row3])", 7, 15)
#define GLOAMING_EACH_ROW_3(DO) \
  DO("(%[low])", 0, 8, 16) DO("(%[low],%[row])", 1, 9, 17) DO("(%[low],%[row],2)", 2, 10, 18) \
  DO("(%[low],%[row3])", 3, 11, 19) DO("(%[high])", 4, 12, 20) DO("(%[high],%[row])", 5, 13, 21) \
  DO("(%[high],%[row],2)", 6, 14, 22) DO("(%[high],%[row3])", 7, 15, 23)

// Sums begin with the correction of the bias: that of the tokens if rows are biased, that of the row if tokens are.
#define GLOAMING_CORRECT_1 "vmovdqa64 (%[corrections]), %%zmm24\n\t"
#define GLOAMING_CORRECT_2 GLOAMING_CORRECT_1 "vmovdqa64 64(%[corrections]), %%zmm25\n\t"
#define GLOAMING_CORRECT_3 GLOAMING_CORRECT_2 "vmovdqa64 128(%[corrections]), %%zmm26\n\t"
#define GLOAMING_BEGIN_1(at, a) "vmovdqa64 %%zmm24, %%zmm" #a "\n\t"
#define GLOAMING_BEGIN_2(at, a, b) GLOAMING_BEGIN_1(at, a) "vmovdqa64 %%zmm25, %%zmm" #b "\n\t"
#define GLOAMING_BEGIN_3(at, a, b, c) GLOAMING_BEGIN_2(at, a, b) "vmovdqa64 %%zmm26, %%zmm" #c "\n\t"
#define GLOAMING_START_2(at, a, b) \
  "vpbroadcastd 4*" #a "(%[corrections]), %%zmm" #a "\n\t" "vmovdqa64 %%zmm" #a ", %%zmm" #b "\n\t"

#define GLOAMING_LOAD_1 "vmovdqa64 64*\\quad(%[query]), %%zmm24\n\t"
#define GLOAMING_LOAD_2 GLOAMING_LOAD_1 "vmovdqa64 64*\\quad(%[query],%[block]), %%zmm25\n\t"
#define GLOAMING_LOAD_3 GLOAMING_LOAD_2 "vmovdqa64 64*\\quad(%[query],%[block],2), %%zmm26\n\t"

#define GLOAMING_DOT_2(at, a, b) \
  "vpbroadcastd 4*\\quad" at ", %%zmm27\n\t" \
  "vpdpbusd %%zmm27, %%zmm24, %%zmm" #a "\n\t" \
  "vpdpbusd %%zmm27, %%zmm25, %%zmm" #b "\n\t"

// The same with the row's bytes unsigned and the tokens' signed.
#define GLOAMING_MEET_1(at, a) \
  "vpbroadcastd 4*\\quad" at ", %%zmm27\n\t" \
  "vpdpbusd %%zmm24, %%zmm27, %%zmm" #a "\n\t"
#define GLOAMING_MEET_2(at, a, b) GLOAMING_MEET_1(at, a) "vpdpbusd %%zmm25, %%zmm27, %%zmm" #b "\n\t"
#define GLOAMING_MEET_3(at, a, b, c) GLOAMING_MEET_2(at, a, b) "vpdpbusd %%zmm26, %%zmm27, %%zmm" #c "\n\t"

// Both maxima of one row's sums. The row's own is stored, or merged with that of earlier blocks.
#define GLOAMING_KEEP(a) "vmovdqa64 %%zmm" #a ", 64*" #a "(%[best])\n\t"
#define GLOAMING_MERGE(a) "vpmaxsd 64*" #a "(%[best]), %%zmm" #a ", %%zmm" #a "\n\t" GLOAMING_KEEP(a)
#define GLOAMING_CLOSE_1(at, a) "vpmaxsd %%zmm" #a ", %%zmm29, %%zmm29\n\t"
#define GLOAMING_CLOSE_2(at, a, b) \
  "vpmaxsd %%zmm" #b ", %%zmm30, %%zmm30\n\t" \
  "vpmaxsd %%zmm" #a ", %%zmm29, %%zmm29\n\t" \
  "vpmaxsd %%zmm" #b ", %%zmm" #a ", %%zmm" #a "\n\t"
#define GLOAMING_CLOSE_3(at, a, b, c) \
  "vpmaxsd %%zmm" #c ", %%zmm31, %%zmm31\n\t" \
  "vpmaxsd %%zmm" #b ", %%zmm30, %%zmm30\n\t" \
  "vpmaxsd %%zmm" #a ", %%zmm29, %%zmm29\n\t" \
  "vpmaxsd %%zmm" #b ", %%zmm" #a ", %%zmm" #a "\n\t" \
  "vpmaxsd %%zmm" #c ", %%zmm" #a ", %%zmm" #a "\n\t"
#define GLOAMING_KEEP_1(at, a) GLOAMING_CLOSE_1(at, a) GLOAMING_KEEP(a)
#define GLOAMING_KEEP_2(at, a, b) GLOAMING_CLOSE_2(at, a, b) GLOAMING_KEEP(a)
#define GLOAMING_KEEP_3(at, a, b, c) GLOAMING_CLOSE_3(at, a, b, c) GLOAMING_KEEP(a)
#define GLOAMING_MERGE_1(at, a) GLOAMING_CLOSE_1(at, a) GLOAMING_MERGE(a)
#define GLOAMING_MERGE_2(at, a, b) GLOAMING_CLOSE_2(at, a, b) GLOAMING_MERGE(a)
#define GLOAMING_MERGE_3(at, a, b, c) GLOAMING_CLOSE_3(at, a, b, c) GLOAMING_MERGE(a)

#define GLOAMING_CLOSEST_1(DO) DO(0, 29)
#define GLOAMING_CLOSEST_2(DO) DO(0, 29) DO(1, 30)
#define GLOAMING_CLOSEST_3(DO) DO(0, 29) DO(1, 30) DO(2, 31)
#define GLOAMING_LOAD_CLOSEST(n, z) "vmovdqa64 64*" #n "(%[closest]), %%zmm" #z "\n\t"
#define GLOAMING_STORE_CLOSEST(n, z) "vmovdqa64 %%zmm" #z ", 64*" #n "(%[closest])\n\t"

// Eight quads, 32 dimensions, per round.
#define GLOAMING_TILE(blocks, MAXIMA) \
  asm volatile(GLOAMING_CORRECT_##blocks GLOAMING_EACH_ROW_##blocks(GLOAMING_BEGIN_##blocks) \
               "1:\n\t.irp quad, 0, 1, 2, 3, 4, 5, 6, 7\n\t" \
               GLOAMING_LOAD_##blocks GLOAMING_EACH_ROW_##blocks(GLOAMING_MEET_##blocks) \
               ".endr\n\t" \
               "add $512, %[query]\n\tadd $32, %[low]\n\tadd $32, %[high]\n\tdec %[rounds]\n\tjnz 1b\n\t" \
               GLOAMING_CLOSEST_##blocks(GLOAMING_LOAD_CLOSEST) \
               GLOAMING_EACH_ROW_##blocks(MAXIMA##_##blocks) \
               GLOAMING_CLOSEST_##blocks(GLOAMING_STORE_CLOSEST) \
               : [query] "+r"(query), [low] "+r"(low), [high] "+r"(high), [rounds] "+r"(rounds) \
               : [row] "r"(row), [row3] "r"(3 * row), [block] "r"(row * 16), \
                 [corrections] "r"(tokens.corrections), [best] "r"(rows.best), [closest] "r"(closest) \
               : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", \
                 "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm29", "xmm30", "xmm31")
// clang-format on

/* Raises closest [kBlocks × 16] and rows.best [8] to the dot products of kBlocks blocks of the packed query with the
 * first eight rows. The first blocks of a query (kFirst) overwrite rows.best. */
template <uint32_t kBlocks, bool kFirst>
inline void multiplyEightRows(const Blocks& tokens, const Rows& rows, int32_t* closest) {
  static_assert(kBlocks >= 1 && kBlocks <= 3, "three blocks of sums fit in the registers");
  const uint64_t row = rows.dimension;
  const __m512i* query = tokens.quads;
  const uint8_t *low = rows.values, *high = rows.values + 4 * row;
  uint64_t rounds = row / 32;
  if constexpr (kBlocks == 1 && kFirst) GLOAMING_TILE(1, GLOAMING_KEEP);
  else if constexpr (kBlocks == 1) GLOAMING_TILE(1, GLOAMING_MERGE);
  else if constexpr (kBlocks == 2 && kFirst) GLOAMING_TILE(2, GLOAMING_KEEP);
  else if constexpr (kBlocks == 2) GLOAMING_TILE(2, GLOAMING_MERGE);
  else if constexpr (kFirst) GLOAMING_TILE(3, GLOAMING_KEEP);
  else GLOAMING_TILE(3, GLOAMING_MERGE);
}

// Assembly, one instruction a line.
// clang-format off
#define GLOAMING_NARROW(at, a, b) \
  "vpackssdw %%zmm" #b ", %%zmm" #a ", %%zmm" #a "\n\t" \
  "vpmulhw %[multiplier], %%zmm" #a ", %%zmm" #a "\n\t" \
  "vmovdqa64 %%zmm" #a ", 64*" #a "(%[products])\n\t"

// The same, and both maxima of the dot products. A dot product fits in int16, so packing loses nothing.
#define GLOAMING_KEEP_AND_NARROW(at, a, b) \
  "vpackssdw %%zmm" #b ", %%zmm" #a ", %%zmm" #a "\n\t" \
  "vpmaxsw 64*" #a "(%[closest]), %%zmm" #a ", %%zmm" #b "\n\t" \
  "vpmaxsw %%zmm" #a ", %[nearest], %[nearest]\n\t" \
  "vmovdqa64 %%zmm" #b ", 64*" #a "(%[closest])\n\t" \
  "vpmulhw %[multiplier], %%zmm" #a ", %%zmm" #a "\n\t" \
  "vmovdqa64 %%zmm" #a ", 64*" #a "(%[products])\n\t"

#define GLOAMING_TILE_INTO(NARROW) \
  asm volatile(GLOAMING_EACH_ROW_2(GLOAMING_START_2) \
               "1:\n\t.irp quad, 0, 1, 2, 3, 4, 5, 6, 7\n\t" \
               GLOAMING_LOAD_2 GLOAMING_EACH_ROW_2(GLOAMING_DOT_2) \
               ".endr\n\t" \
               "add $512, %[query]\n\tadd $32, %[low]\n\tadd $32, %[high]\n\tdec %[rounds]\n\tjnz 1b\n\t" \
               GLOAMING_EACH_ROW_2(NARROW) \
               : [query] "+r"(query), [low] "+r"(low), [high] "+r"(high), [rounds] "+r"(rounds), \
                 [nearest] "+v"(nearest) \
               : [row] "r"(row), [row3] "r"(3 * row), [block] "r"(row * 16), [corrections] "r"(corrections), \
                 [multiplier] "v"(multiplier), [products] "r"(products), [closest] "r"(closest) \
               : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm24", "xmm25", "xmm27")
// clang-format on

/* Writes to products [8 × 32] the dot products of two packed blocks with eight rows, (dot × multiplier) >> 16 in int16,
 * by row; packssdw takes four lanes of each block in turn. With kMeasures it raises closest [8 × 32] and nearest to the
 * unscaled dot products, in the same lanes. */
template <bool kMeasures>
inline __attribute__((always_inline)) void multiplyEightRowsInto(const __m512i* query, const int8_t* low,
                                                                 const int32_t* corrections, uint64_t row,
                                                                 __m512i multiplier, int16_t* products,
                                                                 int16_t* closest, __m512i& nearest) {
  const int8_t* high = low + 4 * row;
  uint64_t rounds = row / 32;
  if constexpr (kMeasures) GLOAMING_TILE_INTO(GLOAMING_KEEP_AND_NARROW);
  else GLOAMING_TILE_INTO(GLOAMING_NARROW);
}

// Assembly, one instruction a line.
// clang-format off
#define GLOAMING_START_AT_ONE(at, a, b) \
  "vmovdqa64 %[one], %%zmm" #a "\n\t" \
  "vmovdqa64 %[one], %%zmm" #b "\n\t"
// Bits 13 to 28 of both sums as float32, those of block 1 in the odd lanes; see kernels.h.
#define GLOAMING_ADD_LOGS(at, a, b) \
  "vcvtdq2ps %%zmm" #a ", %%zmm" #a "\n\t" \
  "vcvtdq2ps %%zmm" #b ", %%zmm" #b "\n\t" \
  "vpsrld $13, %%zmm" #a ", %%zmm" #a "\n\t" \
  "vpslld $3, %%zmm" #b ", %%zmm" #b "\n\t" \
  "vmovdqu16 %%zmm" #b ", %%zmm" #a "%{%[odd]%}\n\t" \
  "vpmulhw %[weight], %%zmm" #a ", %%zmm" #a "\n\t" \
  "vpaddw 64*" #a "(%[products]), %%zmm" #a ", %%zmm" #a "\n\t" \
  "vmovdqa64 %%zmm" #a ", 64*" #a "(%[products])\n\t"
// clang-format on

/* Adds to products [8 × 32] the scores of the profiles of two packed blocks with those of eight rows: block 0 in the
 * even lanes, block 1 in the odd ones. Profiles are not biased, so their sums begin at the 1 of log2(x + 1). */
inline __attribute__((always_inline)) void addEightProfiles(const __m512i* query, const int8_t* low, __m512i weight,
                                                            int16_t* products) {
  constexpr uint64_t row = kProfileWidth;
  static_assert(kProfileValues == 5 * 4, "a row has five quads");
  // Assembly, one instruction a line.
  // clang-format off
  asm volatile(GLOAMING_EACH_ROW_2(GLOAMING_START_AT_ONE)
               ".irp quad, 0, 1, 2, 3, 4\n\t"
               GLOAMING_LOAD_2 GLOAMING_EACH_ROW_2(GLOAMING_DOT_2)
               ".endr\n\t"
               GLOAMING_EACH_ROW_2(GLOAMING_ADD_LOGS)
               :
               : [query] "r"(query), [low] "r"(low), [high] "r"(low + 4 * row), [row] "r"(row), [row3] "r"(3 * row),
                 [block] "r"(row * 16), [one] "v"(_mm512_set1_epi32(1)), [weight] "v"(weight),
                 [odd] "Yk"(__mmask32{0xaaaaaaaa}), [products] "r"(products)
               : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                 "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm24", "xmm25", "xmm27");
  // clang-format on
}

/* multiplyEightRows with intrinsics, for 1 to 8 rows: the end of a target, and the plain twin of the assembly above. */
template <uint32_t kBlocks, bool kFirst, uint32_t kRows>
inline void multiplyRows(const Blocks& tokens, const Rows& rows, int32_t* closest) {
  const uint32_t quads = rows.dimension / 4;
  __m512i sums[kBlocks][kRows];
#pragma GCC unroll 8
  for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (uint32_t b = 0; b < kBlocks; ++b) sums[b][r] = _mm512_load_si512(tokens.corrections + b * kLanes);
  }
  for (uint32_t quad = 0; quad < quads; ++quad) {
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kRows; ++r) {
      const __m512i bytes = _mm512_set1_epi32(loadQuad(rows.values + size_t{r} * rows.dimension + quad * 4));
#pragma GCC unroll 3
      for (uint32_t b = 0; b < kBlocks; ++b) {
        multiplyAdd(sums[b][r], bytes, _mm512_load_si512(tokens.quads + size_t{b} * quads + quad));
      }
    }
  }
#pragma GCC unroll 3
  for (uint32_t b = 0; b < kBlocks; ++b) {
    __m512i best = _mm512_load_si512(closest + b * kLanes);
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kRows; ++r) {
      best = _mm512_max_epi32(best, sums[b][r]);
      rows.best[r] = kFirst && b == 0 ? sums[b][r] : _mm512_max_epi32(rows.best[r], sums[b][r]);
    }
    _mm512_store_si512(closest + b * kLanes, best);
  }
}

template <TileCode kCode, uint32_t kBlocks, bool kFirst>
inline void multiplyFullTile(const Blocks& tokens, const Rows& rows, int32_t* closest) {
  if constexpr (kCode == TileCode::kAssembly) multiplyEightRows<kBlocks, kFirst>(tokens, rows, closest);
  else multiplyRows<kBlocks, kFirst, 8>(tokens, rows, closest);
}

/* Adds to sums [2 blocks × 8 rows] the products of `quads` quads. The blocks lie `stride` vectors apart. */
GLOAMING_INLINE void multiplyTwoBlocks(const __m512i* query, uint32_t stride, const int8_t* rows, uint32_t rowBytes,
                                       uint32_t quads, __m512i (&sums)[2][kTileRows]) {
  for (uint32_t quad = 0; quad < quads; ++quad) {
    const __m512i first = _mm512_load_si512(query + quad), second = _mm512_load_si512(query + stride + quad);
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) {
      const __m512i bytes = _mm512_set1_epi32(loadQuad(rows + size_t{r} * rowBytes + quad * 4));
      multiplyAdd(sums[0][r], first, bytes);
      multiplyAdd(sums[1][r], second, bytes);
    }
  }
}

/* The plain twin of multiplyEightRowsInto. */
template <bool kMeasures>
GLOAMING_INLINE void multiplyEightRowsIntoPlainly(const __m512i* query, const int8_t* rows, const int32_t* corrections,
                                                  uint32_t dimension, __m512i multiplier, int16_t* products,
                                                  int16_t* closest, __m512i& nearest) {
  __m512i sums[2][kTileRows];
#pragma GCC unroll 8
  for (uint32_t r = 0; r < kTileRows; ++r) sums[0][r] = sums[1][r] = _mm512_set1_epi32(corrections[r]);
  multiplyTwoBlocks(query, dimension / 4, rows, dimension, dimension / 4, sums);
#pragma GCC unroll 8
  for (uint32_t r = 0; r < kTileRows; ++r) {
    const __m512i dots = _mm512_packs_epi32(sums[0][r], sums[1][r]);
    if constexpr (kMeasures) {
      int16_t* own = closest + r * 2 * kLanes;
      _mm512_store_si512(own, _mm512_max_epi16(_mm512_load_si512(own), dots));
      nearest = _mm512_max_epi16(nearest, dots);
    }
    _mm512_store_si512(products + r * 2 * kLanes, _mm512_mulhi_epi16(dots, multiplier));
  }
}

/* The plain twin of addEightProfiles. */
GLOAMING_INLINE void addEightProfilesPlainly(const __m512i* query, const int8_t* rows, __m512i weight,
                                             int16_t* products) {
  __m512i sums[2][kTileRows];
#pragma GCC unroll 8
  for (uint32_t r = 0; r < kTileRows; ++r) sums[0][r] = sums[1][r] = _mm512_set1_epi32(1);
  multiplyTwoBlocks(query, kProfileWidth / 4, rows, kProfileWidth, kProfileValues / 4, sums);
  const auto floatBits = [](__m512i values) { return _mm512_castps_si512(_mm512_cvtepi32_ps(values)); };
#pragma GCC unroll 8
  for (uint32_t r = 0; r < kTileRows; ++r) {
    const __m512i even = _mm512_srli_epi32(floatBits(sums[0][r]), 13);
    const __m512i odd = _mm512_slli_epi32(floatBits(sums[1][r]), 3);
    const __m512i scores = _mm512_mulhi_epi16(_mm512_mask_mov_epi16(even, 0xaaaaaaaa, odd), weight);
    int16_t* own = products + r * 2 * kLanes;
    _mm512_store_si512(own, _mm512_add_epi16(scores, _mm512_load_si512(own)));
  }
}

}  // namespace
}  // namespace gloaming

#endif
