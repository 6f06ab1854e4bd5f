/* MaxSim with AVX2. Both maxima live in registers and in the first-level cache; the dot products are never stored.
 *
 * Rows are prepared as t + 128, and the signed side is the query (bytes.h). A block that has a wide pair is wide, too:
 * its bytes are multiplied one by one, and one product always fits.
 *
 * A register tile is up to 2 blocks of 16 query tokens × up to 4 target rows: 8 accumulators, 2 query vectors, a
 * broadcast, a product and 2 running maxima of the 16 registers.
 *
 * A packed query: int16 corrections [roundUp(length, 16)], its pairs in the layout of kernels.h, and a byte for each
 * block: whether it is wide. A prepared row has each pair of bytes twice, for broadcasts of 32 bits. */
#include "avx2/avx2.h"
#include "avx2/bytes.h"

namespace gloaming {
namespace {

constexpr uint32_t kLanes = 16;  // 16-bit sums in a register

struct Rows {
  const uint8_t* values;
  uint32_t dimension;
  __m256i* best;  // for each row the best dot product of each lane
};

/* Blocks of query tokens. */
struct Blocks {
  const __m256i* pairs;
  const __m256i* corrections;
};

uint32_t blocksOf(uint32_t length) { return roundUp(length, kLanes) / kLanes; }

template <uint32_t kBlocks, uint32_t kRows, bool kWide>
inline __attribute__((always_inline)) void tile(const Blocks& blocks, const Rows& rows, uint32_t row,
                                                __m256i (&closest)[kBlocks]) {
  const uint32_t pairs = rows.dimension / 2;
  const uint8_t* values = rows.values + size_t{row} * rows.dimension * 2;
  __m256i sums[kBlocks][kRows];
#pragma GCC unroll 4
  for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (uint32_t b = 0; b < kBlocks; ++b) sums[b][r] = _mm256_load_si256(blocks.corrections + b);
  }
  for (uint32_t pair = 0; pair < pairs; ++pair) {
    __m256i tokens[kBlocks];
#pragma GCC unroll 2
    for (uint32_t b = 0; b < kBlocks; ++b) tokens[b] = _mm256_load_si256(blocks.pairs + size_t{b} * pairs + pair);
#pragma GCC unroll 4
    for (uint32_t r = 0; r < kRows; ++r) {
      int32_t twice;
      std::memcpy(&twice, values + (size_t{r} * pairs + pair) * sizeof twice, sizeof twice);
      const __m256i two = _mm256_set1_epi32(twice);
#pragma GCC unroll 2
      for (uint32_t b = 0; b < kBlocks; ++b) {
        if (kWide) {
          multiplyAdd(sums[b][r], two, _mm256_and_si256(tokens[b], _mm256_set1_epi16(0xff)));
          multiplyAdd(sums[b][r], two, _mm256_andnot_si256(_mm256_set1_epi16(0xff), tokens[b]));
        } else {
          multiplyAdd(sums[b][r], two, tokens[b]);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (uint32_t b = 0; b < kBlocks; ++b) {
      rows.best[row + r] = _mm256_max_epi16(rows.best[row + r], sums[b][r]);
      closest[b] = _mm256_max_epi16(closest[b], sums[b][r]);
    }
  }
}

/* Raises the best dot products of 16 tokens. */
void raise(int32_t* tokens, __m256i closest) {
  auto* to = reinterpret_cast<__m256i*>(tokens);
  const __m128i low = _mm256_castsi256_si128(closest), high = _mm256_extracti128_si256(closest, 1);
  _mm256_store_si256(to, _mm256_max_epi32(_mm256_load_si256(to), _mm256_cvtepi16_epi32(low)));
  _mm256_store_si256(to + 1, _mm256_max_epi32(_mm256_load_si256(to + 1), _mm256_cvtepi16_epi32(high)));
}

/* Up to 2 blocks of query tokens against all rows. */
template <uint32_t kBlocks, bool kWide = false>
void sweep(const Blocks& blocks, const Rows& rows, uint32_t rowCount, int32_t* closestTokens) {
  __m256i closest[kBlocks];
  for (uint32_t b = 0; b < kBlocks; ++b) closest[b] = _mm256_set1_epi16(INT16_MIN);
  uint32_t row = 0;
  for (; row + 4 <= rowCount; row += 4) tile<kBlocks, 4, kWide>(blocks, rows, row, closest);
  if (rowCount - row == 3) tile<kBlocks, 3, kWide>(blocks, rows, row, closest);
  else if (rowCount - row == 2) tile<kBlocks, 2, kWide>(blocks, rows, row, closest);
  else if (rowCount - row == 1) tile<kBlocks, 1, kWide>(blocks, rows, row, closest);
  for (uint32_t b = 0; b < kBlocks; ++b) raise(closestTokens + b * kLanes, closest[b]);
}

int32_t largestLane(__m256i v) {
  __m128i half = _mm_max_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  // The minimum of unsigned lanes of the complement's order.
  half = _mm_minpos_epu16(_mm_xor_si128(half, _mm_set1_epi16(INT16_MAX)));
  return static_cast<int16_t>(_mm_extract_epi16(half, 0) ^ INT16_MAX);
}

}  // namespace

size_t avx2MaxsimPackedBytes(uint32_t length, uint32_t dimension) {
  return size_t{blocksOf(length)} * (kLanes * (sizeof(int16_t) + dimension) + 1);
}

void avx2MaxsimPack(const Tokens& query, void* packed) {
  const auto [values, length, dimension] = query;
  const uint32_t count = roundUp(length, kLanes);
  auto* corrections = static_cast<int16_t*>(packed);
  auto* pairs = reinterpret_cast<int8_t*>(corrections + count);
  auto* wide = pairs + size_t{count} * dimension;
  std::memset(wide, 0, count / kLanes);
  for (uint32_t lane = 0; lane < count; ++lane) {
    const int8_t* row = values + size_t{lane < length ? lane : length - 1} * dimension;
    int8_t* to = pairs + size_t{lane / kLanes * kLanes} * dimension + lane % kLanes * 2;
    int32_t sum = 0;
    for (uint32_t k = 0; k < dimension; k += 2) {
      sum += row[k] + row[k + 1];
      if (isWide(row[k], row[k + 1])) wide[lane / kLanes] = 1;
      std::memcpy(to + size_t{k} * kLanes, row + k, 2);
    }
    corrections[lane] = static_cast<int16_t>(-128 * sum);
  }
}

void avx2MaxsimPrepare(const int8_t* rows, uint32_t rowCount, uint32_t dimension, void* prepared) {
  // Flipping the top bit of a byte adds 128. Rows are a multiple of 32 bytes.
  const __m256i bias = _mm256_set1_epi8(-128);
  auto* to = static_cast<__m256i*>(prepared);
  for (size_t byte = 0; byte < size_t{rowCount} * dimension; byte += 32, to += 2) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + byte));
    // Unpacking works on halves of a register, so its inner quarters change places first.
    const __m256i biased = _mm256_permute4x64_epi64(_mm256_xor_si256(bytes, bias), 0xd8);
    _mm256_store_si256(to, _mm256_unpacklo_epi16(biased, biased));
    _mm256_store_si256(to + 1, _mm256_unpackhi_epi16(biased, biased));
  }
}

int32_t avx2MaxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest) {
  const uint32_t dimension = query.tokens.dimension, count = blocksOf(query.tokens.length);
  const auto* corrections = static_cast<const __m256i*>(query.packed);
  const auto* pairs = corrections + count;
  const auto* wide = reinterpret_cast<const int8_t*>(pairs + size_t{count} * (dimension / 2));
  __m256i best[kMaxRows];
  for (uint32_t r = 0; r < rowCount; ++r) best[r] = _mm256_set1_epi16(INT16_MIN);

  const Rows all{static_cast<const uint8_t*>(rows), dimension, best};
  for (uint32_t block = 0; block < count;) {
    const Blocks tokens{pairs + size_t{block} * (dimension / 2), corrections + block};
    int32_t* own = closest + block * kLanes;
    const bool hasTwo = block + 2 <= count && wide[block] == 0 && wide[block + 1] == 0;
    if (hasTwo) sweep<2>(tokens, all, rowCount, own);
    else if (wide[block] != 0) sweep<1, true>(tokens, all, rowCount, own);
    else sweep<1>(tokens, all, rowCount, own);
    block += hasTwo ? 2 : 1;
  }
  int32_t sum = 0;
  for (uint32_t r = 0; r < rowCount; ++r) sum += largestLane(best[r]);
  return sum;
}

}  // namespace gloaming
