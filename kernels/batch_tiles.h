/* The sweep of batch.h for lanes that multiply vectors: eight query residues at a time. */
#ifndef GLOAMING_BATCH_TILES_H
#define GLOAMING_BATCH_TILES_H

#include "batch_cells.h"

namespace gloaming {
namespace {

/** Eight residues of a query. The tile before has computed their products with the column, without the base. */
template <class Lanes>
struct Tile {
  /** [kTileRows × lanes] */
  int16_t* products;
  BatchCell<Lanes>* cells;
  const uint8_t* letters;
  const int16_t* bases;
  /** [kTileRows × lanes]: best dot product so far of each residue of the next tile; null without sums. */
  int16_t* closest;
};

/** The Unit of lanes that keep nothing between two columns. */
struct VectorUnit {
  explicit VectorUnit(uint32_t) {}
  template <class Lanes>
  void begin(const Column<Lanes>&, const BatchQuery<Lanes>&) {}
};

/* Computes the cells of residue r of the tile. */
template <class Lanes>
GLOAMING_INLINE void advance(Front<Lanes>& at, const Tile<Lanes>& tile, const Column<Lanes>& column, uint32_t r) {
  const auto base = Lanes::baseOf(tile.bases, tile.letters[r], column.letters);
  const auto substitution = Lanes::add(base, Lanes::load(tile.products + r * Lanes::lanes));
  advance(at, tile.cells[r], column, Lanes::add(at.diagonal, substitution));
}

/* Computes all cells of a column, tile by tile. Returns false if the task was cancelled. */
template <bool kMeasures, class Lanes>
bool sweepTiles(Front<Lanes>& front, const Column<Lanes>& column, const QueryCells<Lanes>& cells) {
  const BatchQuery<Lanes>& query = cells.query;
  const uint32_t length = cells.length;
  alignas(64) int16_t products[kTileRows * Lanes::lanes];
  Tile<Lanes> tile{products, cells.cells, cells.letters, query.bases, cells.closest};
  Lanes::template multiply<kMeasures>(front, tile, column, query, 0);
  if (column.profiles != nullptr) Lanes::addProfiles(column, query.profile, products);
  uint32_t i = kTileRows;
  for (; i < length; i += kTileRows) {
    if (i % kCancelStep == 0 && cells.cancelled.load(std::memory_order_relaxed)) return false;
    if constexpr (kMeasures) tile.closest += kTileRows * Lanes::lanes;
    Lanes::template advanceAndMultiply<kMeasures>(front, tile, column, query, i);
    if (column.profiles != nullptr) Lanes::addProfiles(column, query.profile + size_t{i} * kProfileWidth, products);
    tile.cells += kTileRows;
    tile.letters += kTileRows;
  }
  const uint32_t left = length + kTileRows - i;
  for (uint32_t r = 0; r < left; ++r) advance(front, tile, column, r);
  return !cells.cancelled.load(std::memory_order_relaxed);
}

}  // namespace
}  // namespace gloaming

#endif
