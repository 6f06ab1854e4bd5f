/* MaxSim by tiles: strips of 16 target rows against pairs of blocks of 16 query tokens.
 *
 * A tile of products takes 16 cycles for 64 dimensions, and storing its 256 products takes as many. So the work per
 * product is the limit. Two tiles are packed into one vector of 16-bit products per row. The row's best stays in a
 * register throughout the strip; the tokens' best is widened and stored once per pair. The maxima of a pair follow the
 * multiplications of the next pair, which hides their latency.
 *
 *   tmm0, 1 and 2, 3   products of an even and an odd pair of blocks     tmm6   the strip's rows, 32 or 64 dimensions
 *   tmm4, 5            the pair's tokens, as in kernels.h
 *
 * On an Emerald Rapids core it reaches .21 (64 dimensions) and .32 (128) of the tiles' peak, which is 2.1 and 2.8 times
 * the rate of AVX-512 VNNI. Machines without AMX test it with the emulation of test/emulated_tiles.h.
 *
 * Shape   as maxsimRows in kernels.h; a packed query has blocks of 32 tokens: packssdw takes four products of each tile
 *         in turn, so the first tile of a pair has tokens 0–3, 8–11, 16–19, 24–27
 */
#ifndef GLOAMING_AMX_STRIPS_H
#define GLOAMING_AMX_STRIPS_H

#include <immintrin.h>

#include <cstring>

#include "kernels.h"
#include "amx/tiles.h"

namespace gloaming {
namespace {

constexpr uint32_t kStripRows = 16, kTileTokens = 16, kPairTokens = 32;

/* Dimensions of one tile. */
inline uint32_t tileDepth(uint32_t dimension) { return dimension % 64 == 0 ? 64 : 32; }

inline TileShapes shapesFor(uint32_t depth) {
  TileShapes shapes;
  for (uint32_t products = 0; products < 4; ++products) shapes.set(products, kStripRows, kTileTokens * 4);
  for (uint32_t tokens = 4; tokens < 6; ++tokens) shapes.set(tokens, static_cast<uint8_t>(depth / 4), kTileTokens * 4);
  shapes.set(6, kStripRows, depth);
  return shapes;
}

/* Packs vectors of 16 quads, in the layout of kernels.h, but block by block of a pair. */
inline void packPairs(const Tokens& query, int8_t* to) {
  const auto [values, length, dimension] = query;
  for (uint32_t block = 0; block < roundUp(length, kPairTokens) / kTileTokens; ++block) {
    for (uint32_t lane = 0; lane < kTileTokens; ++lane) {
      const uint32_t wanted = block / 2 * kPairTokens + lane / 4 * 8 + block % 2 * 4 + lane % 4;
      const int8_t* row = values + size_t{wanted < length ? wanted : length - 1} * dimension;
      int8_t* quads = to + size_t{block} * kTileTokens * dimension + lane * 4;
      for (uint32_t k = 0; k < dimension; k += 4) std::memcpy(quads + size_t{k} * kTileTokens, row + k, 4);
    }
  }
}

/* Returns the largest lane of each of 16 vectors, in their order, by a transposing tree. */
inline __m256i largestLanes(const __m512i (&rows)[kStripRows]) {
  __m512i twos[8], fours[4], eights[2];
#pragma GCC unroll 8
  for (uint32_t k = 0; k < 8; ++k) {
    const __m512i a = rows[2 * k], b = rows[2 * k + 1];
    twos[k] = _mm512_max_epi16(_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b));
  }
#pragma GCC unroll 4
  for (uint32_t k = 0; k < 4; ++k) {
    const __m512i a = twos[2 * k], b = twos[2 * k + 1];
    fours[k] = _mm512_max_epi16(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  }
#pragma GCC unroll 2
  for (uint32_t k = 0; k < 2; ++k) {
    const __m512i a = fours[2 * k], b = fours[2 * k + 1];
    eights[k] = _mm512_max_epi16(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  }
  const auto fold = [](__m512i a, __m512i b) {
    return _mm512_max_epi16(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
  };
  const __m512i both = fold(eights[0], eights[1]);
  return _mm512_castsi512_si256(fold(both, both));
}

/* MaxSim of one strip of rows with a query, on any Tiles. */
template <class Tiles>
class Strip {
 public:
  Strip(Tiles& tiles, const int8_t* packed, const int8_t* rows, uint32_t dimension, int32_t* closest)
      : tiles_(tiles), packed_(packed), rows_(rows), dimension_(dimension), depth_(tileDepth(dimension)),
        closest_(closest) {
    if (depth_ == dimension_) tiles_.template load<6>(rows_, dimension_);
  }

  /* Returns Σ over the first `count` rows of their best. */
  int32_t sweep(uint32_t pairs, uint32_t count) {
    __m512i best[kStripRows];
#pragma GCC unroll 16
    for (__m512i& row : best) row = _mm512_set1_epi16(INT16_MIN);
    multiply<0>(0);
    for (uint32_t pair = 1; pair < pairs; ++pair) {
      if (pair % 2 == 1) multiply<2>(pair);
      else multiply<0>(pair);
      raise(pair - 1, best);
    }
    raise(pairs - 1, best);
    const __m512i sums = _mm512_cvtepi16_epi32(largestLanes(best));
    return _mm512_mask_reduce_add_epi32(static_cast<__mmask16>((1U << count) - 1), sums);
  }

 private:
  static constexpr size_t kProducts = kStripRows * kTileTokens;

  /* Computes the products of a pair in the tiles first and first + 1, and stores them. */
  template <int first>
  void multiply(uint32_t pair) {
    const int8_t* tokens = packed_ + size_t{pair} * kPairTokens * dimension_;
    const size_t tileBytes = size_t{kTileTokens} * dimension_;
    tiles_.template zero<first>();
    tiles_.template zero<first + 1>();
    for (uint32_t k = 0; k < dimension_; k += depth_) {
      if (depth_ < dimension_) tiles_.template load<6>(rows_ + k, dimension_);
      tiles_.template load<4>(tokens + size_t{k} * kTileTokens, kTileTokens * 4);
      tiles_.template load<5>(tokens + tileBytes + size_t{k} * kTileTokens, kTileTokens * 4);
      tiles_.template multiplyAdd<first, 6, 4>();
      tiles_.template multiplyAdd<first + 1, 6, 5>();
    }
    tiles_.template store<first>(products_[first], kTileTokens * 4);
    tiles_.template store<first + 1>(products_[first + 1], kTileTokens * 4);
  }

  /* Raises the best of the rows and of the pair's tokens to the pair's products. */
  void raise(uint32_t pair, __m512i (&best)[kStripRows]) {
    const int32_t *low = products_[pair % 2 * 2], *high = products_[pair % 2 * 2 + 1];
    __m512i tokens = _mm512_set1_epi16(INT16_MIN);
#pragma GCC unroll 16
    for (uint32_t r = 0; r < kStripRows; ++r) {
      const __m512i products =
          _mm512_packs_epi32(_mm512_load_si512(low + r * kTileTokens), _mm512_load_si512(high + r * kTileTokens));
      best[r] = _mm512_max_epi16(best[r], products);
      tokens = _mm512_max_epi16(tokens, products);
    }
    int32_t* closest = closest_ + size_t{pair} * kPairTokens;
    const __m512i first = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(tokens));
    const __m512i second = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(tokens, 1));
    _mm512_store_si512(closest, _mm512_max_epi32(_mm512_load_si512(closest), first));
    _mm512_store_si512(closest + 16, _mm512_max_epi32(_mm512_load_si512(closest + 16), second));
  }

  Tiles& tiles_;
  const int8_t* const packed_;
  const int8_t* const rows_;
  const uint32_t dimension_, depth_;
  int32_t* const closest_;
  alignas(64) int32_t products_[4][kProducts];
};

/* maxsimRows of kernels.h. */
template <class Tiles>
int32_t maxsimRowsByTiles(const PackedQuery& query, const int8_t* rows, uint32_t rowCount, int32_t* closest) {
  const uint32_t dimension = query.tokens.dimension, pairs = roundUp(query.tokens.length, kPairTokens) / kPairTokens;
  const auto* packed = static_cast<const int8_t*>(query.packed);
  alignas(64) const TileShapes shapes = shapesFor(tileDepth(dimension));
  alignas(64) int8_t tail[kStripRows * kMaxDimension];
  Tiles tiles(shapes);
  int32_t sum = 0;
  for (uint32_t first = 0; first < rowCount; first += kStripRows) {
    const int8_t* strip = rows + size_t{first} * dimension;
    const uint32_t count = rowCount - first < kStripRows ? rowCount - first : kStripRows;
    if (count < kStripRows) {
      // Nothing may be read beyond the target. A repeated last row changes no maximum.
      for (uint32_t r = 0; r < kStripRows; ++r) {
        std::memcpy(tail + size_t{r} * dimension, strip + size_t{r < count ? r : count - 1} * dimension, dimension);
      }
      strip = tail;
    }
    sum += Strip<Tiles>(tiles, packed, strip, dimension, closest).sweep(pairs, count);
  }
  return sum;
}

}  // namespace
}  // namespace gloaming

#endif
