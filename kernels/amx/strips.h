/* MaxSim by tiles: strips of 16 target rows against pairs of blocks of 16 query tokens.
 *
 * A tile of products takes 16 cycles for 64 dimensions. Storing its 256 products takes as many, in which the core
 * issues little else. The maxima of a tile and the load of its tokens take 14 cycles more. So with 64 dimensions about
 * half of the peak is the limit, even if nothing waits. Two tiles are packed into one vector of 16-bit products per
 * row, which halves the maxima. A row's best stays in a register throughout a strip.
 *
 * Three pairs overlap. While one is multiplied, the products of the pair before are stored, tile by tile, and the
 * maxima of the pair before that are computed. This goes on from strip to strip, so that it starts once in a call.
 *
 * Groups of tokens fit in the first-level cache with all rows of a call. Each group is compared with all strips, so
 * that a long query is read from the second-level cache once for all rows.
 *
 *   tmm0, 1 and 2, 3   products of an even and an odd pair     tmm5–7   the strip's rows, 32 or 64 dimensions each
 *   tmm4               a block's tokens, as in kernels.h
 *
 * On an Emerald Rapids core it reaches .32 (64 dimensions) and .35 (128) of the tiles' peak, which is 3.3 and 3.5 times
 * the rate of AVX-512 VNNI. Machines without AMX test it with the emulation of test/emulated_tiles.h.
 *
 * Shape   as maxsimRows in kernels.h; a packed query is laid out as there, up to a full pair of blocks
 */
#ifndef GLOAMING_AMX_STRIPS_H
#define GLOAMING_AMX_STRIPS_H

#include <immintrin.h>

#include <cstring>

#include "skew.h"
#include "amx/tiles.h"

namespace gloaming {
namespace {

constexpr uint32_t kStripRows = 16, kTileTokens = 16, kPairTokens = 32;
/** Tokens of a group take at most this. They stay in the first-level cache with the rows, the products and the best. */
constexpr uint32_t kGroupBytes = 20 << 10;

/* Dimensions of one tile. */
inline uint32_t tileDepth(uint32_t dimension) { return dimension % 64 == 0 ? 64 : 32; }

inline TileShapes shapesFor(uint32_t depth) {
  TileShapes shapes;
  for (uint32_t products = 0; products < 4; ++products) shapes.set(products, kStripRows, kTileTokens * 4);
  shapes.set(4, static_cast<uint8_t>(depth / 4), kTileTokens * 4);
  for (uint32_t rows = 5; rows < 8; ++rows) shapes.set(rows, kStripRows, depth);
  return shapes;
}

/* Packs vectors of 16 quads, in the layout of kernels.h, up to a full pair. */
inline void packPairs(const Tokens& query, int8_t* to) {
  const auto [values, length, dimension] = query;
  for (uint32_t token = 0; token < roundUp(length, kPairTokens); ++token) {
    const int8_t* row = values + size_t{token < length ? token : length - 1} * dimension;
    int8_t* quads = to + size_t{token / kTileTokens * kTileTokens} * dimension + token % kTileTokens * 4;
    for (uint32_t k = 0; k < dimension; k += 4) std::memcpy(quads + size_t{k} * kTileTokens, row + k, 4);
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

/* Memory of a sweep. It lies outside the sweep, whose own members the compiler then keeps in registers. */
struct SweepMemory {
  alignas(64) int32_t products[4][kStripRows * kTileTokens];
  alignas(64) int8_t tail[kStripRows * kMaxDimension];
  __m512i best[kMaxRows / kStripRows][kStripRows];
};

/* MaxSim of up to kMaxRows rows with a query, on any Tiles. kParts: tiles that hold a strip's rows; 0 if the rows take
 * more than three tiles, and are loaded again for each block. */
template <class Tiles, uint32_t kParts>
class Sweep {
 public:
  Sweep(Tiles& tiles, SweepMemory& memory, const PackedQuery& query, const int8_t* rows, uint32_t rowCount,
        int32_t* closest)
      : tiles_(tiles), memory_(memory), dimension_(query.tokens.dimension), depth_(tileDepth(dimension_)),
        pairs_(roundUp(query.tokens.length, kPairTokens) / kPairTokens),
        packed_(static_cast<const int8_t*>(query.packed)), rows_(rows), rowCount_(rowCount),
        strips_(roundUp(rowCount, kStripRows) / kStripRows), closest_(closest) {
    // Groups of about the same size.
    const uint32_t most = kGroupBytes / (kPairTokens * dimension_), groups = (pairs_ + most - 1) / most;
    groupPairs_ = (pairs_ + groups - 1) / groups;
    groupEnd_ = groupPairs_;
  }

  /* Returns Σ over the rows of their best. */
  GLOAMING_INLINE int32_t run() {
    __m512i best[kStripRows], sums = _mm512_setzero_si512();
    loadRows();
    step<0, false>(0, best);
    step<2, false>(0, best);
    bool isOdd = false;
    for (uint32_t from = 0; from < pairs_; from += groupPairs_) {
      const uint32_t to = endOfGroup(from);
      for (uint32_t strip = 0; strip < strips_; ++strip) {
#pragma GCC unroll 16
        for (uint32_t r = 0; r < kStripRows; ++r) {
          best[r] = from == 0 ? _mm512_set1_epi16(INT16_MIN) : memory_.best[strip][r];
        }
        for (uint32_t pair = from; pair < to; ++pair, isOdd = !isOdd) {
          if (isOdd) step<2, true>(pair, best);
          else step<0, true>(pair, best);
        }
        if (to == pairs_) {
          const uint32_t left = rowsLeft(strip);
          const auto counted = static_cast<__mmask16>(left < kStripRows ? (1U << left) - 1 : 0xffff);
          sums = _mm512_mask_add_epi32(sums, counted, sums, _mm512_cvtepi16_epi32(largestLanes(best)));
        } else {
#pragma GCC unroll 16
          for (uint32_t r = 0; r < kStripRows; ++r) memory_.best[strip][r] = best[r];
        }
      }
    }
    return _mm512_reduce_add_epi32(sums);
  }

 private:
  uint32_t endOfGroup(uint32_t from) const { return from + groupPairs_ < pairs_ ? from + groupPairs_ : pairs_; }
  uint32_t rowsLeft(uint32_t strip) const { return rowCount_ - strip * kStripRows; }

  /* Multiplies the next pair, in the tiles first and first + 1, stores the products of the pair before it, and raises
   * the best to the products of the pair before that, `pair`. */
  template <int first, bool kRaises>
  GLOAMING_INLINE void step(uint32_t pair, __m512i (&best)[kStripRows]) {
    constexpr int earlier = 2 - first;
    const int32_t *low = memory_.products[first], *high = memory_.products[first + 1];
    __m512i tokens = _mm512_set1_epi16(INT16_MIN);
    if (isLeft_) multiply<first>(0);
    if (kRaises) raise<0>(low, high, best, tokens);
    store<earlier>();
    if (isLeft_) {
      multiply<first + 1>(1);
      advance();
    }
    if (kRaises) raise<kStripRows / 2>(low, high, best, tokens);
    store<earlier + 1>();
    if (!kRaises) return;
    // Widens 16-bit products to 32 bits: the low half of each lane of 128 bits came from the first block.
    raiseClosest(pair * kPairTokens, _mm512_srai_epi32(_mm512_unpacklo_epi16(tokens, tokens), 16));
    raiseClosest(pair * kPairTokens + kTileTokens, _mm512_srai_epi32(_mm512_unpackhi_epi16(tokens, tokens), 16));
  }

  /* Raises the best of eight rows, and that of the pair's tokens. */
  template <uint32_t from>
  static GLOAMING_INLINE void raise(const int32_t* low, const int32_t* high, __m512i (&best)[kStripRows],
                                    __m512i& tokens) {
#pragma GCC unroll 8
    for (uint32_t r = from; r < from + kStripRows / 2; ++r) {
      const __m512i products =
          _mm512_packs_epi32(_mm512_load_si512(low + r * kTileTokens), _mm512_load_si512(high + r * kTileTokens));
      best[r] = _mm512_max_epi16(best[r], products);
      tokens = _mm512_max_epi16(tokens, products);
    }
  }

  GLOAMING_INLINE void raiseClosest(uint32_t token, __m512i products) {
    int32_t* closest = closest_ + token;
    _mm512_store_si512(closest, _mm512_max_epi32(_mm512_load_si512(closest), products));
  }

  template <int tile>
  GLOAMING_INLINE void store() {
    tiles_.template store<tile>(memory_.products[tile], kTileTokens * 4);
  }

  /* Multiplies a block of the next pair. */
  template <int sums>
  GLOAMING_INLINE void multiply(uint32_t block) {
    const int8_t* tokens = packed_ + (size_t{nextPair_} * 2 + block) * kTileTokens * dimension_;
    const size_t partBytes = size_t{kTileTokens} * depth_;
    tiles_.template zero<sums>();
    if constexpr (kParts > 0) multiplyPart<sums, 5>(tokens);
    if constexpr (kParts > 1) multiplyPart<sums, 6>(tokens + partBytes);
    if constexpr (kParts > 2) multiplyPart<sums, 7>(tokens + 2 * partBytes);
    if constexpr (kParts > 0) return;
    for (uint32_t k = 0; k < dimension_; k += depth_) {
      tiles_.template load<5>(strip_ + k, dimension_);
      multiplyPart<sums, 5>(tokens + size_t{k} * kTileTokens);
    }
  }

  template <int sums, int rows>
  GLOAMING_INLINE void multiplyPart(const int8_t* tokens) {
    tiles_.template load<4>(tokens, kTileTokens * 4);
    tiles_.template multiplyAdd<sums, rows, 4>();
  }

  /* Moves to the next pair of the group, strip or group. */
  GLOAMING_INLINE void advance() {
    if (++nextPair_ < groupEnd_) return;
    if (++nextStrip_ == strips_) {
      nextStrip_ = 0;
      group_ = groupEnd_;
      groupEnd_ = endOfGroup(group_);
      isLeft_ = group_ < pairs_;
      if (!isLeft_) return;
    }
    nextPair_ = group_;
    loadRows();
  }

  /* Loads the rows of the next strip. */
  GLOAMING_INLINE void loadRows() {
    strip_ = rows_ + size_t{nextStrip_} * kStripRows * dimension_;
    const uint32_t left = rowsLeft(nextStrip_);
    if (left < kStripRows) {
      // Nothing may be read beyond the target. A repeated last row changes no maximum.
      for (uint32_t r = 0; r < kStripRows; ++r) {
        std::memcpy(memory_.tail + size_t{r} * dimension_, strip_ + size_t{r < left ? r : left - 1} * dimension_,
                    dimension_);
      }
      strip_ = memory_.tail;
    }
    if constexpr (kParts > 0) tiles_.template load<5>(strip_, dimension_);
    if constexpr (kParts > 1) tiles_.template load<6>(strip_ + depth_, dimension_);
    if constexpr (kParts > 2) tiles_.template load<7>(strip_ + 2 * depth_, dimension_);
  }

  Tiles& tiles_;
  SweepMemory& memory_;
  const uint32_t dimension_, depth_, pairs_;
  const int8_t* const packed_;
  const int8_t* const rows_;
  const uint32_t rowCount_, strips_;
  int32_t* const closest_;
  uint32_t groupPairs_;
  /** The next multiplication: its pair and strip, the first pair of its group and the first behind it. */
  uint32_t nextPair_ = 0, nextStrip_ = 0, group_ = 0, groupEnd_;
  const int8_t* strip_;
  bool isLeft_ = true;
};

/* maxsimRows of kernels.h. */
template <class Tiles>
int32_t maxsimRowsByTiles(const PackedQuery& query, const int8_t* rows, uint32_t rowCount, int32_t* closest) {
  const uint32_t depth = tileDepth(query.tokens.dimension), parts = query.tokens.dimension / depth;
  alignas(64) const TileShapes shapes = shapesFor(depth);
  Tiles tiles(shapes);
  SweepMemory memory;
  if (parts == 1) return Sweep<Tiles, 1>(tiles, memory, query, rows, rowCount, closest).run();
  if (parts == 2) return Sweep<Tiles, 2>(tiles, memory, query, rows, rowCount, closest).run();
  if (parts == 3) return Sweep<Tiles, 3>(tiles, memory, query, rows, rowCount, closest).run();
  return Sweep<Tiles, 0>(tiles, memory, query, rows, rowCount, closest).run();
}

}  // namespace
}  // namespace gloaming

#endif
