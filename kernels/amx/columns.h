/* The lanes of batch.h with AMX: 32 targets; dot products by tiles.
 *
 * A tile has sixteen query rows and one of two blocks of sixteen targets. The products of both blocks take some 74
 * cycles, because tiles are stored after they are multiplied, not meanwhile. So the products of the next rows are
 * computed while the cells of the current rows run. At the end of a column, the next rows are the first ones, with the
 * next column. Up to 64 dimensions the blocks stay loaded.
 *
 *   tmm0, 1   products of both blocks, or of their profiles    tmm6   sixteen query rows, 32 or 64 dimensions
 *   tmm2, 3   tokens of the column, as in kernels.h            tmm7   profiles of sixteen query rows
 *   tmm4, 5   profiles of the column
 *
 * On an Emerald Rapids core, the cells of 32 targets take 6.5 cycles alone, and 10 to 11 beside the tiles. Each row of
 * a stored tile takes a turn of port 5, which the cells use, too. Other orders of the instructions were no faster.
 * Machines without AMX test it with the emulation of test/emulated_tiles.h.
 */
#ifndef GLOAMING_AMX_COLUMNS_H
#define GLOAMING_AMX_COLUMNS_H

#include "amx/tiles.h"
#include "avx512/lanes.h"
#include "batch.h"

namespace gloaming {
namespace {

/** Bytes of a profile that are multiplied: the values and the quad of the 1 of log2(x + 1). */
constexpr uint32_t kProfileDepth = kProfileValues + 4;

/** Tiles of the current thread, and the products of sixteen query rows with a column: of the rows whose cells run, and
 * of those after them. */
template <class Tiles>
class ColumnTiles {
 public:
  static constexpr uint32_t kRows = 16, kTargets = 16;
  /** The first of two blocks. */
  enum Of { kTokens = 0, kProfiles = 2 };

  explicit ColumnTiles(uint32_t dimension)
      : depth_(dimension % 64 == 0 ? 64 : 32), dimension_(dimension), shapes_(shapesFor(depth_)), tiles_(shapes_) {}

  /* Computes the products of the first rows of a query with its first column. */
  template <class Lanes>
  void begin(const Column<Lanes>& column, const BatchQuery<Lanes>& query) {
    take(column.tokens, column.profiles);
    multiply(query.rows);
    store<0, kTokens>();
    store<1, kTokens>();
    if (column.profiles != nullptr) {
      multiplyProfiles(query.profile);
      store<0, kProfiles>();
      store<1, kProfiles>();
    }
    turn();
  }

  /* Takes a column and its profiles, which are null where they score nothing. */
  GLOAMING_INLINE void take(const int8_t* tokens, const int8_t* profiles) {
    tokens_ = tokens;
    if (depth_ == dimension_) loadTokens(0);
    if (profiles == nullptr) return;
    tiles_.template load<4>(profiles, kBytes);
    tiles_.template load<5>(profiles + kProfileWidth * kTargets, kBytes);
  }

  GLOAMING_INLINE void multiply(const int8_t* rows) {
    tiles_.template zero<0>();
    tiles_.template zero<1>();
    for (uint32_t k = 0; k < dimension_; k += depth_) {
      if (depth_ < dimension_) loadTokens(k);
      tiles_.template load<6>(rows + k, dimension_);
      tiles_.template multiplyAdd<0, 6, 2>();
      tiles_.template multiplyAdd<1, 6, 3>();
    }
  }
  GLOAMING_INLINE void multiplyProfiles(const int8_t* rows) {
    tiles_.template zero<0>();
    tiles_.template zero<1>();
    tiles_.template load<7>(rows, kProfileWidth);
    tiles_.template multiplyAdd<0, 7, 4>();
    tiles_.template multiplyAdd<1, 7, 5>();
  }
  /* Stores the products of a block of tokens or profiles with the rows that come after the current ones. */
  template <int block, Of of>
  GLOAMING_INLINE void store() {
    tiles_.template store<block>(products_[1 - turn_][of + block], kBytes);
  }

  /* Passes on to the rows whose products are stored. */
  void turn() { turn_ = 1 - turn_; }
  /* Products of the current row r with a block of tokens or profiles. */
  GLOAMING_INLINE const int32_t* products(Of of, uint32_t block, uint32_t r) const {
    return products_[turn_][of + block] + r * kTargets;
  }

 private:
  /** Of a row of products, or of quads. */
  static constexpr size_t kBytes = kTargets * 4;

  static TileShapes shapesFor(uint32_t depth) {
    TileShapes shapes;
    for (const uint32_t products : {0, 1}) shapes.set(products, kRows, kBytes);
    for (const uint32_t tokens : {2, 3}) shapes.set(tokens, static_cast<uint8_t>(depth / 4), kBytes);
    for (const uint32_t profiles : {4, 5}) shapes.set(profiles, kProfileDepth / 4, kBytes);
    shapes.set(6, kRows, depth);
    shapes.set(7, kRows, kProfileDepth);
    return shapes;
  }
  GLOAMING_INLINE void loadTokens(uint32_t k) {
    tiles_.template load<2>(tokens_ + size_t{k} * kTargets, kBytes);
    tiles_.template load<3>(tokens_ + size_t{k + dimension_} * kTargets, kBytes);
  }

  const uint32_t depth_, dimension_;
  const TileShapes shapes_;
  Tiles tiles_;
  const int8_t* tokens_ = nullptr;
  uint32_t turn_ = 0;
  alignas(64) int32_t products_[2][4][kRows * kTargets];
};

template <class Tiles>
struct TileLanes : Vectors32 {
  using Unit = ColumnTiles<Tiles>;

  static int32_t correctionOf(int32_t) { return 0; }
  static size_t extraBytes(uint32_t, uint32_t) { return 0; }
  static void splitRows(int8_t*, uint32_t, uint32_t, uint8_t*) {}
  static void packColumn(const int8_t* const* rows, uint32_t dimension, int8_t* to) {
    packTwoBlocks(rows, dimension, zero(), to);
  }
  static void packProfiles(const int8_t* const* rows, int8_t* to) {
    Vectors32::packProfiles(rows, to);
    // Times the one that follows the values of a query's profile.
    for (uint32_t block = 0; block < 2; ++block) {
      store(to + (block * kProfileWidth + kProfileValues) * Unit::kTargets, _mm512_set1_epi32(1));
    }
  }

  /* Computes the cells of a column, whose first products are known, and the first products of the next column. */
  template <bool kMeasures>
  static bool sweep(Unit& unit, Front<TileLanes>& front, const Column<TileLanes>& column, const Column<TileLanes>& next,
                    const QueryCells<TileLanes>& cells) {
    return column.profiles == nullptr ? sweepRows<kMeasures, false>(unit, front, column, next, cells)
                                      : sweepRows<kMeasures, true>(unit, front, column, next, cells);
  }

 private:
  static constexpr uint32_t kRows = Unit::kRows;

  template <bool kMeasures, bool kProfiles>
  static bool sweepRows(Unit& unit, Front<TileLanes>& front, const Column<TileLanes>& column,
                        const Column<TileLanes>& next, QueryCells<TileLanes> cells) {
    Front<TileLanes> at = front;
    const Column<TileLanes> own = column;
    const int8_t *rows = cells.query.rows, *profiles = cells.query.profile;
    for (uint32_t i = 0; i < cells.length; i += kRows) {
      if (i % kCancelStep == 0 && cells.cancelled.load(std::memory_order_relaxed)) return false;
      const bool isLast = i + kRows >= cells.length;
      const uint32_t after = isLast ? 0 : i + kRows, left = std::min(kRows, cells.length - i);
      if (isLast) unit.take(next.tokens, next.profiles);
      unit.multiply(rows + size_t{after} * own.dimension);
      advanceRows<kMeasures, kProfiles, 0>(at, own, cells, unit, left);
      unit.template store<0, Unit::kTokens>();
      advanceRows<kMeasures, kProfiles, 1>(at, own, cells, unit, left);
      unit.template store<1, Unit::kTokens>();
      if constexpr (kProfiles) unit.multiplyProfiles(profiles + size_t{after} * kProfileWidth);
      advanceRows<kMeasures, kProfiles, 2>(at, own, cells, unit, left);
      if constexpr (kProfiles) unit.template store<0, Unit::kProfiles>();
      advanceRows<kMeasures, kProfiles, 3>(at, own, cells, unit, left);
      if constexpr (kProfiles) unit.template store<1, Unit::kProfiles>();
      unit.turn();
      cells.cells += kRows;
      cells.letters += kRows;
      if constexpr (kMeasures) cells.closest += kRows * lanes;
    }
    front = at;
    return !cells.cancelled.load(std::memory_order_relaxed);
  }

  /* Computes the cells of a quarter of the rows, of which `left` exist. */
  template <bool kMeasures, bool kProfiles, uint32_t quarter>
  static GLOAMING_INLINE void advanceRows(Front<TileLanes>& at, const Column<TileLanes>& column,
                                          const QueryCells<TileLanes>& cells, const Unit& unit, uint32_t left) {
    constexpr uint32_t first = quarter * kRows / 4, end = first + kRows / 4;
    if (left >= end) {
#pragma GCC unroll 4
      for (uint32_t r = first; r < end; ++r) advanceRow<kMeasures, kProfiles>(at, column, cells, unit, r);
    } else {
      for (uint32_t r = first; r < left; ++r) advanceRow<kMeasures, kProfiles>(at, column, cells, unit, r);
    }
  }

  template <bool kMeasures, bool kProfiles>
  static GLOAMING_INLINE void advanceRow(Front<TileLanes>& at, const Column<TileLanes>& column,
                                         const QueryCells<TileLanes>& cells, const Unit& unit, uint32_t r) {
    const auto products = [&unit, r](auto of, uint32_t block) { return load(unit.products(of, block, r)); };
    const Vector dots = _mm512_packs_epi32(products(Unit::kTokens, 0), products(Unit::kTokens, 1));
    if constexpr (kMeasures) {
      int16_t* closest = cells.closest + r * lanes;
      store(closest, max(load(closest), dots));
      at.nearest = max(at.nearest, dots);
    }
    const Vector base = baseOf(cells.query.bases, cells.letters[r], column.letters);
    Vector substitution = add(base, multiplyHigh(dots, column.multiplier));
    if constexpr (kProfiles) {
      const Vector logs = profileLogs(products(Unit::kProfiles, 0), products(Unit::kProfiles, 1));
      substitution = add(substitution, multiplyHigh(logs, column.profileWeight));
    }
    advance(at, cells.cells[r], column, add(at.diagonal, substitution));
  }

  /* L of kernels.h for sums x + 1 of the even and the odd lanes: bits 13 to 28 of a float. */
  static GLOAMING_INLINE Vector profileLogs(Vector even, Vector odd) {
    const auto floatBits = [](Vector sums) { return _mm512_castps_si512(_mm512_cvtepi32_ps(sums)); };
    const Vector low = _mm512_srli_epi32(floatBits(even), 13), high = _mm512_slli_epi32(floatBits(odd), 3);
    return _mm512_mask_mov_epi16(low, 0xaaaaaaaa, high);
  }
};

}  // namespace
}  // namespace gloaming

#endif
