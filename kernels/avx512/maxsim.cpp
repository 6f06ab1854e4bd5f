/* MaxSim with AVX-512 VNNI. Both maxima live in registers and in a few kilobytes of the first-level cache; the dot
 * products are never stored. */
#include "avx512/avx512.h"
#include "avx512/tile.h"
#include "avx512/vnni.h"

namespace gloaming {
namespace {

/* One to three blocks of query tokens against all rows. */
template <uint32_t kBlocks, bool kFirst>
void sweep(const __m512i* query, const Rows& rows, uint32_t rowCount, int32_t* closest) {
  uint32_t row = 0;
  for (; row + 8 <= rowCount; row += 8) multiplyEightRows<kBlocks, kFirst>(query, rows.from(row), closest);
  uint32_t left = rowCount - row;
  // An odd tail takes in a row that was seen before, if there is one: maxima do not mind.
  if (left % 2 == 1 && row > 0) {
    --row;
    ++left;
  } else if (left % 2 == 1) {
    multiplyRows<kBlocks, kFirst, 1>(query, rows.from(row++), closest);
    --left;
  }
  if (left == 8) multiplyEightRows<kBlocks, kFirst>(query, rows.from(row), closest);
  else if (left == 6) multiplyRows<kBlocks, kFirst, 6>(query, rows.from(row), closest);
  else if (left == 4) multiplyRows<kBlocks, kFirst, 4>(query, rows.from(row), closest);
  else if (left == 2) multiplyRows<kBlocks, kFirst, 2>(query, rows.from(row), closest);
}

template <bool kFirst>
void sweepBlocks(uint32_t count, const __m512i* query, const Rows& rows, uint32_t rowCount, int32_t* closest) {
  if (count == 3) sweep<3, kFirst>(query, rows, rowCount, closest);
  else if (count == 2) sweep<2, kFirst>(query, rows, rowCount, closest);
  else sweep<1, kFirst>(query, rows, rowCount, closest);
}

/* Σ over the first `count` (≤ 16) rows of their largest lane. */
int32_t sumOfLargest(const __m512i (&rows)[16], uint32_t count) {
  const __m512i largest = joinLanes(rows, [](__m512i a, __m512i b) { return _mm512_max_epi32(a, b); });
  return _mm512_mask_reduce_add_epi32(static_cast<__mmask16>((1u << count) - 1), largest);
}

/* Asks for a part of the rows that usually come next, so that they are near when they do. */
void prefetch(const int8_t* rows, size_t from, size_t to) {
  for (size_t byte = from; byte < to; byte += 64) _mm_prefetch(rows + byte, _MM_HINT_T0);
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
  const size_t bytes = size_t{rowCount} * dimension;
  int32_t corrections[kMaxRows];
  __m512i best[kMaxRows / 16][16];  // undefined until the query's first blocks have been there
  correctRows(rows, rowCount, dimension, corrections);

  const Rows all{rows, corrections, best[0], dimension};
  for (uint32_t block = 0; block < blocks;) {
    const uint32_t left = blocks - block;
    const __m512i* tokens = packed + size_t{block} * (dimension / 4);
    // Two blocks run best; an odd number ends with three, because one alone would wait for its own sums.
    const uint32_t count = left == 3 ? 3 : left == 1 ? 1 : 2;
    if (block == 0) sweepBlocks<true>(count, tokens, all, rowCount, closest);
    else sweepBlocks<false>(count, tokens, all, rowCount, closest + block * kLanes);
    prefetch(rows + bytes, bytes * block / blocks / 64 * 64, bytes * (block + count) / blocks);
    block += count;
  }
  int32_t sum = 0;
  for (uint32_t r = 0; r < rowCount; r += 16) sum += sumOfLargest(best[r / 16], rowCount - r < 16 ? rowCount - r : 16);
  return sum;
}

}  // namespace gloaming
