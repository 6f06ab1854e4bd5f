/* MaxSim with AVX-512 VNNI. Both maxima live in registers and in a few kilobytes of the first-level cache; the dot
 * products are never stored.
 *
 * vpdpbusd multiplies unsigned by signed bytes. Rows are prepared as t + 128. A sum that starts at the
 * correction −128 × Σ(query token) ends at the exact dot product: Σ q × (t + 128) − 128 × Σ q = Σ q × t. The correction
 * of a token is computed once per search, and a row is prepared once for all queries of a call.
 *
 * A packed query: int32 corrections [roundUp(length, 16)], then its quads in the layout of kernels.h. */
#include "avx512/avx512.h"
#include "avx512/tile.h"
#include "avx512/vnni.h"

namespace gloaming {
namespace {

/* Compares one to three blocks of query tokens with all rows. */
template <TileCode kCode, uint32_t kBlocks, bool kFirst>
void sweep(const Blocks& blocks, const Rows& rows, uint32_t rowCount, int32_t* closest) {
  uint32_t row = 0;
  for (; row + 8 <= rowCount; row += 8) multiplyFullTile<kCode, kBlocks, kFirst>(blocks, rows.from(row), closest);
  uint32_t left = rowCount - row;
  // An odd tail repeats the row before it, if there is one: repetition does not change a maximum.
  if (left % 2 == 1 && row > 0) {
    --row;
    ++left;
  } else if (left % 2 == 1) {
    multiplyRows<kBlocks, kFirst, 1>(blocks, rows.from(row++), closest);
    --left;
  }
  if (left == 8) multiplyFullTile<kCode, kBlocks, kFirst>(blocks, rows.from(row), closest);
  else if (left == 6) multiplyRows<kBlocks, kFirst, 6>(blocks, rows.from(row), closest);
  else if (left == 4) multiplyRows<kBlocks, kFirst, 4>(blocks, rows.from(row), closest);
  else if (left == 2) multiplyRows<kBlocks, kFirst, 2>(blocks, rows.from(row), closest);
}

template <TileCode kCode, bool kFirst>
void sweepBlocks(uint32_t count, const Blocks& blocks, const Rows& rows, uint32_t rowCount, int32_t* closest) {
  if (count == 3) sweep<kCode, 3, kFirst>(blocks, rows, rowCount, closest);
  else if (count == 2) sweep<kCode, 2, kFirst>(blocks, rows, rowCount, closest);
  else sweep<kCode, 1, kFirst>(blocks, rows, rowCount, closest);
}

/* Σ over the first `count` (≤ 16) rows of their largest lane. */
int32_t sumOfLargest(const __m512i (&rows)[16], uint32_t count) {
  const __m512i largest = joinLanes(rows, [](__m512i a, __m512i b) { return _mm512_max_epi32(a, b); });
  return _mm512_mask_reduce_add_epi32(static_cast<__mmask16>((1u << count) - 1), largest);
}

size_t correctionBytes(uint32_t length) { return size_t{roundUp(length, kLanes)} * sizeof(int32_t); }

template <TileCode kCode>
int32_t maxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest) {
  const auto [values, length, dimension] = query.tokens;
  const uint32_t blocks = roundUp(length, kLanes) / kLanes;
  const auto* corrections = static_cast<const int32_t*>(query.packed);
  const auto* quads = static_cast<const __m512i*>(query.packed) + correctionBytes(length) / sizeof(__m512i);
  __m512i best[kMaxRows / 16][16];  // undefined until the query's first blocks have written it

  const Rows all{static_cast<const uint8_t*>(rows), best[0], dimension};
  for (uint32_t block = 0; block < blocks;) {
    const uint32_t left = blocks - block;
    const Blocks tokens{quads + size_t{block} * (dimension / 4), corrections + block * kLanes};
    // Two blocks are fastest. An odd number ends with three, because a single block is bound by the latency of its
    // sums.
    const uint32_t count = left == 3 ? 3 : left == 1 ? 1 : 2;
    if (block == 0) sweepBlocks<kCode, true>(count, tokens, all, rowCount, closest);
    else sweepBlocks<kCode, false>(count, tokens, all, rowCount, closest + block * kLanes);
    block += count;
  }
  int32_t sum = 0;
  for (uint32_t r = 0; r < rowCount; r += 16) sum += sumOfLargest(best[r / 16], rowCount - r < 16 ? rowCount - r : 16);
  return sum;
}

}  // namespace

size_t avx512MaxsimPackedBytes(uint32_t length, uint32_t dimension) {
  return correctionBytes(length) + size_t{roundUp(length, kLanes)} * dimension;
}

void avx512MaxsimPack(const Tokens& query, void* packed) {
  const auto [values, length, dimension] = query;
  auto* corrections = static_cast<int32_t*>(packed);
  auto* quads = static_cast<int8_t*>(packed) + correctionBytes(length);
  for (uint32_t lane = 0; lane < roundUp(length, kLanes); ++lane) {
    const int8_t* row = values + size_t{lane < length ? lane : length - 1} * dimension;
    int32_t sum = 0;
    for (uint32_t k = 0; k < dimension; ++k) sum += row[k];
    corrections[lane] = -128 * sum;
    int8_t* to = quads + size_t{lane / kLanes * kLanes} * dimension + lane % kLanes * 4;
    for (uint32_t k = 0; k < dimension; k += 4) std::memcpy(to + size_t{k} * kLanes, row + k, 4);
  }
}

void avx512MaxsimPrepare(const int8_t* rows, uint32_t rowCount, uint32_t dimension, void* prepared) {
  // Flipping the top bit of a byte adds 128. Rows are a multiple of 32 bytes.
  const __m256i bias = _mm256_set1_epi8(-128);
  auto* to = static_cast<int8_t*>(prepared);
  for (size_t byte = 0; byte < size_t{rowCount} * dimension; byte += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + byte));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + byte), _mm256_xor_si256(bytes, bias));
  }
}

int32_t avx512MaxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest) {
  return maxsimRows<TileCode::kAssembly>(query, rows, rowCount, closest);
}

int32_t avx512PlainMaxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest) {
  return maxsimRows<TileCode::kIntrinsics>(query, rows, rowCount, closest);
}

}  // namespace gloaming
