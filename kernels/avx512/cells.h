/* The step of affine_batch.cpp in assembly: the cells of eight query residues between the multiply-adds of the next
 * eight.
 *
 * One after the other they would take the sum of their times: the reorder buffer is too small to overlap the cells of
 * one tile with the multiplications of the next. So each quad is followed by one or two sixteenths of a cell. On Zen 4
 * with GCC 12 the plain twin below, which runs the cells first, reaches 87 % of the rate (kernels-bench).
 *
 *   zmm0–7, 8–15   sums of block 0 and 1 with row 0 … 7, as in tile.h
 *   zmm24, 25, 27  one quad of each block, and of a row
 *   zmm28, 30, 31  a cell's pair score, E, and H
 */
#ifndef GLOAMING_AVX512_CELLS_H
#define GLOAMING_AVX512_CELLS_H

#include "avx512/tile.h"
#include "batch_tiles.h"

namespace gloaming {
namespace {

// Assembly, one instruction a line.
// clang-format off
// advance() of batch.h in sixteen parts; r is an expression of the assembler.
#define GLOAMING_CELL_0(r) "movzbl " r "(%[letters]), %k[corrections]\n\t"
#define GLOAMING_CELL_1(r) "shl $6, %[corrections]\n\t"
#define GLOAMING_CELL_2(r) "vpermw (%[bases],%[corrections]), %[placing], %%zmm30\n\t"
#define GLOAMING_CELL_3(r) "vpaddw 64*(" r ")(%[products]), %%zmm30, %%zmm28\n\t"
#define GLOAMING_CELL_4(r) "vpaddw %[diagonal], %%zmm28, %%zmm28\n\t"
#define GLOAMING_CELL_5(r) "vmovdqa64 128*(" r ")(%[cells]), %[diagonal]\n\t"
#define GLOAMING_CELL_6(r) "vpmaxsw %%zmm28, %[best], %[best]\n\t"
#define GLOAMING_CELL_7(r) "vmovdqa64 128*(" r ")+64(%[cells]), %%zmm30\n\t"
#define GLOAMING_CELL_8(r) "vpmaxsw %%zmm30, %%zmm28, %%zmm28\n\t"
#define GLOAMING_CELL_9(r) "vpmaxsw %[F], %%zmm28, %%zmm31\n\t"
#define GLOAMING_CELL_10(r) "vmovdqa64 %%zmm31, 128*(" r ")(%[cells])\n\t"
#define GLOAMING_CELL_11(r) "vpsubusw %[gapOpen], %%zmm28, %%zmm28\n\t"
#define GLOAMING_CELL_12(r) "vpsubw %[gapExtend], %%zmm30, %%zmm30\n\t"
#define GLOAMING_CELL_13(r) \
  "vpmaxsw %%zmm28, %%zmm30, %%zmm30\n\t" \
  "vmovdqa64 %%zmm30, 128*(" r ")+64(%[cells])\n\t"
#define GLOAMING_CELL_14(r) "vpsubw %[gapExtend], %[F], %[F]\n\t"
#define GLOAMING_CELL_15(r) "vpmaxsw %%zmm28, %[F], %[F]\n\t"

// A row's multiply-adds, and a part of a cell: one cell per two quads, or one cell per quad (dimension 32).
#define GLOAMING_HALF_CELL(at, a, b) \
  GLOAMING_DOT_2(at, a, b) \
  ".if (\\quad & 1) == 0\n\t" GLOAMING_CELL_##a("\\quad/2") ".else\n\t" GLOAMING_CELL_##b("\\quad/2") ".endif\n\t"
#define GLOAMING_WHOLE_0 GLOAMING_CELL_0("\\quad") GLOAMING_CELL_1("\\quad")
#define GLOAMING_WHOLE_1 GLOAMING_CELL_2("\\quad") GLOAMING_CELL_3("\\quad")
#define GLOAMING_WHOLE_2 GLOAMING_CELL_4("\\quad") GLOAMING_CELL_5("\\quad")
#define GLOAMING_WHOLE_3 GLOAMING_CELL_6("\\quad") GLOAMING_CELL_7("\\quad")
#define GLOAMING_WHOLE_4 GLOAMING_CELL_8("\\quad") GLOAMING_CELL_9("\\quad")
#define GLOAMING_WHOLE_5 GLOAMING_CELL_10("\\quad") GLOAMING_CELL_11("\\quad")
#define GLOAMING_WHOLE_6 GLOAMING_CELL_12("\\quad") GLOAMING_CELL_13("\\quad")
#define GLOAMING_WHOLE_7 GLOAMING_CELL_14("\\quad") GLOAMING_CELL_15("\\quad")
#define GLOAMING_WHOLE_CELL(at, a, b) GLOAMING_DOT_2(at, a, b) GLOAMING_WHOLE_##a

#define GLOAMING_EIGHT_QUADS "0, 1, 2, 3, 4, 5, 6, 7"
#define GLOAMING_SIXTEEN_QUADS GLOAMING_EIGHT_QUADS ", 8, 9, 10, 11, 12, 13, 14, 15"
#define GLOAMING_QUADS(quads, DO) ".irp quad, " quads "\n\t" GLOAMING_LOAD_2 GLOAMING_EACH_ROW_2(DO) ".endr\n\t"

#define GLOAMING_CELLS_AND_TILE(NARROW, body) \
  asm volatile(GLOAMING_EACH_ROW_2(GLOAMING_START_2) body GLOAMING_EACH_ROW_2(NARROW) \
               : [query] "+r"(tokens), [low] "+r"(low), [high] "+r"(high), [rounds] "+m"(rounds), \
                 [corrections] "+r"(corrections), [F] "+v"(at.F), [diagonal] "+v"(at.diagonal), \
                 [best] "+v"(at.best), [nearest] "+v"(at.nearest) \
               : [row] "r"(row), [row3] "r"(3 * row), [block] "r"(row * 16), [products] "r"(tile.products), \
                 [closest] "r"(tile.closest), [cells] "r"(tile.cells), [letters] "r"(tile.letters), \
                 [bases] "r"(tile.bases), [multiplier] "v"(column.multiplier), [gapOpen] "v"(column.gapOpen), \
                 [gapExtend] "v"(column.gapExtend), [placing] "v"(column.letters) \
               : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm24", "xmm25", "xmm27", \
                 "xmm28", "xmm30", "xmm31")

#define GLOAMING_CELLS_IN_ONE_ROUND GLOAMING_QUADS(GLOAMING_EIGHT_QUADS, GLOAMING_WHOLE_CELL)
#define GLOAMING_CELLS_IN_TWO_ROUNDS \
  GLOAMING_QUADS(GLOAMING_SIXTEEN_QUADS, GLOAMING_HALF_CELL) \
  "add $512, %[query]\n\tadd $32, %[low]\n\tadd $32, %[high]\n\tdecq %[rounds]\n\tjz 2f\n\t" \
  "1:\n\tadd $512, %[query]\n\tadd $32, %[low]\n\tadd $32, %[high]\n\t" \
  GLOAMING_QUADS(GLOAMING_EIGHT_QUADS, GLOAMING_DOT_2) \
  "decq %[rounds]\n\tjnz 1b\n\t2:\n\t"
// clang-format on

/* Computes the eight cells of the tile, and overwrites its products with those of the next eight rows. With kMeasures
 * it raises both maxima as multiplyEightRowsInto does. */
template <bool kMeasures, class Lanes>
GLOAMING_INLINE void finishCellsAndMultiply(Front<Lanes>& at, const Tile<Lanes>& tile, const Column<Lanes>& column,
                                            const int8_t* low, const int32_t* corrections) {
  const auto* tokens = reinterpret_cast<const __m512i*>(column.tokens);
  const uint64_t row = column.dimension;
  const int8_t* high = low + 4 * row;
  uint64_t rounds = row / 32 - 1;
  if constexpr (kMeasures) {
    if (rounds == 0) GLOAMING_CELLS_AND_TILE(GLOAMING_KEEP_AND_NARROW, GLOAMING_CELLS_IN_ONE_ROUND);
    else GLOAMING_CELLS_AND_TILE(GLOAMING_KEEP_AND_NARROW, GLOAMING_CELLS_IN_TWO_ROUNDS);
  } else if (rounds == 0) {
    GLOAMING_CELLS_AND_TILE(GLOAMING_NARROW, GLOAMING_CELLS_IN_ONE_ROUND);
  } else {
    GLOAMING_CELLS_AND_TILE(GLOAMING_NARROW, GLOAMING_CELLS_IN_TWO_ROUNDS);
  }
}

/* The plain twin of finishCellsAndMultiply: first the cells, then the multiply-adds. */
template <bool kMeasures, class Lanes>
GLOAMING_INLINE void finishCellsAndMultiplyPlainly(Front<Lanes>& at, const Tile<Lanes>& tile,
                                                   const Column<Lanes>& column, const int8_t* rows,
                                                   const int32_t* corrections) {
#pragma GCC unroll 8
  for (uint32_t r = 0; r < kTileRows; ++r) advance(at, tile, column, r);
  multiplyEightRowsIntoPlainly<kMeasures>(reinterpret_cast<const __m512i*>(column.tokens), rows, corrections,
                                          column.dimension, column.multiplier, tile.products, tile.closest, at.nearest);
}

}  // namespace
}  // namespace gloaming

#endif
