/* MaxSim with AVX-512 VNNI. Both maxima live in registers and in a few kilobytes of the first-level cache; the dot
 * products are never stored.
 *
 * A register tile is up to 3 blocks of 16 query tokens × up to 8 target rows: 24 accumulators, 3 query vectors, one
 * broadcast and 3 running maxima of the 32 registers. It needs 11 loads for 24 multiply-adds, so the two multiply
 * pipes are the limit; the maxima run on the other pipes.
 */
#include "avx512/avx512.h"
#include "avx512/vnni.h"

namespace gloaming {
namespace {

struct Rows {
  const int8_t* values;
  uint32_t dimension;
  const int32_t* corrections;
  __m512i* best;  // for each row the best dot product of each lane
};

template <uint32_t kBlocks, uint32_t kRows>
inline __attribute__((always_inline)) void tile(const __m512i* query, const Rows& rows, uint32_t row,
                                                __m512i (&closest)[kBlocks]) {
  const uint32_t quads = rows.dimension / 4;
  const int8_t* values = rows.values + size_t{row} * rows.dimension;
  __m512i sums[kBlocks][kRows];
#pragma GCC unroll 8
  for (uint32_t r = 0; r < kRows; ++r) {
    const __m512i start = _mm512_set1_epi32(rows.corrections[row + r]);
#pragma GCC unroll 3
    for (uint32_t b = 0; b < kBlocks; ++b) sums[b][r] = start;
  }
  for (uint32_t quad = 0; quad < quads; ++quad) {
    __m512i tokens[kBlocks];
#pragma GCC unroll 3
    for (uint32_t b = 0; b < kBlocks; ++b) tokens[b] = _mm512_load_si512(query + size_t{b} * quads + quad);
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kRows; ++r) {
      const __m512i bytes = _mm512_set1_epi32(loadQuad(values + size_t{rows.dimension} * r + quad * 4));
#pragma GCC unroll 3
      for (uint32_t b = 0; b < kBlocks; ++b) sums[b][r] = _mm512_dpbusd_epi32(sums[b][r], tokens[b], bytes);
    }
  }
#pragma GCC unroll 8
  for (uint32_t r = 0; r < kRows; ++r) {
    __m512i best = rows.best[row + r];
#pragma GCC unroll 3
    for (uint32_t b = 0; b < kBlocks; ++b) {
      best = _mm512_max_epi32(best, sums[b][r]);
      closest[b] = _mm512_max_epi32(closest[b], sums[b][r]);
    }
    rows.best[row + r] = best;
  }
}

/* Up to 3 blocks of query tokens against all rows. */
template <uint32_t kBlocks>
void sweep(const __m512i* query, const Rows& rows, uint32_t rowCount, int32_t* closestTokens) {
  __m512i closest[kBlocks];
  for (uint32_t b = 0; b < kBlocks; ++b) closest[b] = _mm512_load_si512(closestTokens + b * kLanes);
  uint32_t row = 0;
  for (; row + 8 <= rowCount; row += 8) tile<kBlocks, 8>(query, rows, row, closest);
  uint32_t left = rowCount - row;
  // An odd tail takes in a row that was seen before, if there is one: maxima do not mind.
  if (left % 2 == 1 && row > 0) {
    --row;
    ++left;
  } else if (left % 2 == 1) {
    tile<kBlocks, 1>(query, rows, row++, closest);
    --left;
  }
  if (left == 8) tile<kBlocks, 8>(query, rows, row, closest);
  else if (left == 6) tile<kBlocks, 6>(query, rows, row, closest);
  else if (left == 4) tile<kBlocks, 4>(query, rows, row, closest);
  else if (left == 2) tile<kBlocks, 2>(query, rows, row, closest);
  for (uint32_t b = 0; b < kBlocks; ++b) _mm512_store_si512(closestTokens + b * kLanes, closest[b]);
}

}  // namespace

size_t avx512MaxsimPackedBytes(uint32_t length, uint32_t dimension) {
  return size_t{roundUp(length, kLanes)} * dimension;
}

void avx512MaxsimPack(const Tokens& query, void* packed) {
  auto* to = static_cast<uint8_t*>(packed);
  for (uint32_t first = 0; first < query.length; first += kLanes) {
    packBlock(query, [first](uint32_t lane) { return first + lane; }, to + size_t{first} * query.dimension, 1);
  }
}

int32_t avx512MaxsimRows(const PackedQuery& query, const int8_t* rows, uint32_t rowCount, int32_t* closest) {
  const uint32_t dimension = query.tokens.dimension, blocks = roundUp(query.tokens.length, kLanes) / kLanes;
  const auto* packed = static_cast<const __m512i*>(query.packed);
  int32_t corrections[kMaxRows];
  __m512i best[kMaxRows];
  correctRows(rows, rowCount, dimension, corrections);
  for (uint32_t r = 0; r < rowCount; ++r) best[r] = _mm512_set1_epi32(INT32_MIN);

  const Rows all{rows, dimension, corrections, best};
  for (uint32_t block = 0; block < blocks;) {
    const uint32_t left = blocks - block;
    const __m512i* tokens = packed + size_t{block} * (dimension / 4);
    // Four blocks are 2 + 2: one block alone would wait for its own sums.
    const uint32_t count = left == 4 || left == 2 ? 2 : left == 1 ? 1 : 3;
    if (count == 3) sweep<3>(tokens, all, rowCount, closest + block * kLanes);
    else if (count == 2) sweep<2>(tokens, all, rowCount, closest + block * kLanes);
    else sweep<1>(tokens, all, rowCount, closest + block * kLanes);
    block += count;
  }
  int32_t sum = 0;
  for (uint32_t r = 0; r < rowCount; ++r) sum += _mm512_reduce_max_epi32(best[r]);
  return sum;
}

}  // namespace gloaming
