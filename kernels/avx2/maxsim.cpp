/* MaxSim with AVX2. Both maxima live in registers and in the first-level cache; the dot products are never stored.
 *
 * A register tile is up to 2 blocks of 8 query tokens × up to 4 target rows: 8 accumulators, 2 query vectors, a
 * broadcast, a product and 2 running maxima of the 16 registers. */
#include "avx2/avx2.h"
#include "avx2/madd.h"

namespace gloaming {
namespace {

struct Rows {
  const int16_t* values;
  uint32_t dimension;
  __m256i* best;  // for each row the best dot product of each lane
};

template <uint32_t kBlocks, uint32_t kRows>
inline __attribute__((always_inline)) void tile(const __m256i* query, const Rows& rows, uint32_t row,
                                                __m256i (&closest)[kBlocks]) {
  const uint32_t pairs = rows.dimension / 2;
  const int16_t* values = rows.values + size_t{row} * rows.dimension;
  __m256i sums[kBlocks][kRows];
#pragma GCC unroll 4
  for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (uint32_t b = 0; b < kBlocks; ++b) sums[b][r] = _mm256_setzero_si256();
  }
  for (uint32_t pair = 0; pair < pairs; ++pair) {
    __m256i tokens[kBlocks];
#pragma GCC unroll 2
    for (uint32_t b = 0; b < kBlocks; ++b) tokens[b] = _mm256_load_si256(query + size_t{b} * pairs + pair);
#pragma GCC unroll 4
    for (uint32_t r = 0; r < kRows; ++r) {
      const __m256i two = _mm256_set1_epi32(loadPair(values + size_t{rows.dimension} * r + pair * 2));
#pragma GCC unroll 2
      for (uint32_t b = 0; b < kBlocks; ++b) multiplyAdd(sums[b][r], tokens[b], two);
    }
  }
#pragma GCC unroll 4
  for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (uint32_t b = 0; b < kBlocks; ++b) {
      rows.best[row + r] = _mm256_max_epi32(rows.best[row + r], sums[b][r]);
      closest[b] = _mm256_max_epi32(closest[b], sums[b][r]);
    }
  }
}

/* Up to 2 blocks of query tokens against all rows. */
template <uint32_t kBlocks>
void sweep(const __m256i* query, const Rows& rows, uint32_t rowCount, int32_t* closestTokens) {
  auto* tokens = reinterpret_cast<__m256i*>(closestTokens);
  __m256i closest[kBlocks];
  for (uint32_t b = 0; b < kBlocks; ++b) closest[b] = _mm256_load_si256(tokens + b);
  uint32_t row = 0;
  for (; row + 4 <= rowCount; row += 4) tile<kBlocks, 4>(query, rows, row, closest);
  if (rowCount - row == 3) tile<kBlocks, 3>(query, rows, row, closest);
  else if (rowCount - row == 2) tile<kBlocks, 2>(query, rows, row, closest);
  else if (rowCount - row == 1) tile<kBlocks, 1>(query, rows, row, closest);
  for (uint32_t b = 0; b < kBlocks; ++b) _mm256_store_si256(tokens + b, closest[b]);
}

int32_t largestLane(__m256i v) {
  __m128i half = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
}

}  // namespace

size_t avx2MaxsimPackedBytes(uint32_t length, uint32_t dimension) {
  return size_t{roundUp(length, kLanes)} * dimension * sizeof(int16_t);
}

void avx2MaxsimPack(const Tokens& query, void* packed) {
  auto* to = static_cast<int16_t*>(packed);
  for (uint32_t first = 0; first < query.length; first += kLanes) {
    packBlock(
        query, [first](uint32_t lane) { return first + lane; }, to + size_t{first} * query.dimension, 1);
  }
}

void avx2MaxsimPrepare(const int8_t* rows, uint32_t rowCount, uint32_t dimension, void* prepared) {
  widenRows(rows, size_t{rowCount} * dimension, static_cast<int16_t*>(prepared));
}

int32_t avx2MaxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest) {
  const uint32_t dimension = query.tokens.dimension, blocks = roundUp(query.tokens.length, kLanes) / kLanes;
  const auto* packed = static_cast<const __m256i*>(query.packed);
  __m256i best[kMaxRows];
  for (uint32_t r = 0; r < rowCount; ++r) best[r] = _mm256_set1_epi32(INT32_MIN);

  const Rows all{static_cast<const int16_t*>(rows), dimension, best};
  for (uint32_t block = 0; block < blocks; block += 2) {
    const __m256i* tokens = packed + size_t{block} * (dimension / 2);
    if (block + 2 <= blocks) sweep<2>(tokens, all, rowCount, closest + block * kLanes);
    else sweep<1>(tokens, all, rowCount, closest + block * kLanes);
  }
  int32_t sum = 0;
  for (uint32_t r = 0; r < rowCount; ++r) sum += largestLane(best[r]);
  return sum;
}

}  // namespace gloaming
