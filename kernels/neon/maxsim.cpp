/* MaxSim with NEON's dot products. A register tile is 16 query tokens × up to 4 target rows: 16 accumulators, 4 rows
 * and a query vector of the 32 registers; both maxima stay in the first-level cache. */
#include "neon/dot.h"
#include "neon/neon.h"

namespace gloaming {
namespace {

constexpr uint32_t kBlocks = 4, kTokens = kBlocks * kLanes;

template <uint32_t kRows>
inline void tile(const int8_t* query, const int8_t* rows, uint32_t dimension, int32x4_t* best, int32_t* closest) {
  int32x4_t sums[kBlocks][kRows];
  multiplyRows<kBlocks, kRows>(query, rows, dimension, sums);
#pragma GCC unroll 4
  for (uint32_t b = 0; b < kBlocks; ++b) {
    int32x4_t tokens = vld1q_s32(closest + b * kLanes);
#pragma GCC unroll 4
    for (uint32_t r = 0; r < kRows; ++r) {
      tokens = vmaxq_s32(tokens, sums[b][r]);
      best[r] = vmaxq_s32(best[r], sums[b][r]);
    }
    vst1q_s32(closest + b * kLanes, tokens);
  }
}

}  // namespace

size_t neonMaxsimPackedBytes(uint32_t length, uint32_t dimension) {
  return size_t{roundUp(length, kTokens)} * dimension;
}

void neonMaxsimPack(const Tokens& query, void* packed) {
  auto* to = static_cast<int8_t*>(packed);
  for (uint32_t first = 0; first < query.length; first += kTokens) {
    packBlocks<kBlocks>(query, first, to + size_t{first} * query.dimension);
  }
}

int32_t neonMaxsimRows(const PackedQuery& query, const void* stored, uint32_t rowCount, int32_t* closest) {
  const auto [values, length, dimension] = query.tokens;
  const auto* packed = static_cast<const int8_t*>(query.packed);
  const auto* rows = static_cast<const int8_t*>(stored);
  int32x4_t best[kMaxRows];
  for (int32x4_t& row : best) row = vdupq_n_s32(INT32_MIN);
  for (uint32_t first = 0; first < length; first += kTokens) {
    const int8_t* tokens = packed + size_t{first} * dimension;
    uint32_t row = 0;
    for (; row + 4 <= rowCount; row += 4) {
      tile<4>(tokens, rows + size_t{row} * dimension, dimension, best + row, closest + first);
    }
    for (; row < rowCount; ++row) {
      tile<1>(tokens, rows + size_t{row} * dimension, dimension, best + row, closest + first);
    }
  }
  int32_t sum = 0;
  for (uint32_t r = 0; r < rowCount; ++r) sum += vmaxvq_s32(best[r]);
  return sum;
}

}  // namespace gloaming
