/* Turns rows of scores, one per target residue, into anti-diagonals: lane l of row r comes from row r − l.
 *
 * It takes log2 steps, each a masked blend with an earlier row. Lanes whose number has the bit 1, 2 or 4 are delayed in
 * registers, tile by tile. The delays by 8, 16 and 24 happen when a row is read, from a ring of the last 32 rows. */
#ifndef GLOAMING_SKEW_H
#define GLOAMING_SKEW_H

#include "kernels.h"

namespace gloaming {
namespace {

#define GLOAMING_INLINE inline __attribute__((always_inline))

/** Rows of a tile, which are computed together. */
constexpr uint32_t kTileRows = 8;

template <class Lanes>
class Skew {
  using Vector = typename Lanes::Vector;

 public:
  /* All rows before the first are `never`. */
  explicit Skew(Vector never) {
    for (Vector& row : earlier_) row = never;
    for (Vector& row : ring_) row = never;
  }

  /* Adds the next eight rows, and overwrites them. */
  GLOAMING_INLINE void push(Vector (&rows)[kTileRows]) {
    lag<1>(rows, earlier_);
    lag<2>(rows, earlier_ + 1);
    if constexpr (Lanes::lanes > 4) lag<4>(rows, earlier_ + 3);
    tile_ = (tile_ + 1) % kTiles;
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) ring_[tile_ * kTileRows + r] = rows[r];
  }

  /* Returns row r of the last tile, with all delays. */
  GLOAMING_INLINE Vector row(uint32_t r) const {
    Vector row = at(0, r);
    if constexpr (Lanes::lanes > 8) row = Lanes::template fromEight<8>(row, at(1, r));
    if constexpr (Lanes::lanes > 16) {
      row = Lanes::template fromEight<16>(row, at(2, r));
      row = Lanes::template fromEight<24>(row, at(3, r));
    }
    return row;
  }

 private:
  static constexpr uint32_t kTiles = 4;

  GLOAMING_INLINE const Vector& at(uint32_t tilesAgo, uint32_t r) const {
    return ring_[(tile_ + kTiles - tilesAgo) % kTiles * kTileRows + r];
  }

  /* Lanes whose number has the bit `delay` take their value from `delay` rows earlier. */
  template <uint32_t delay>
  static GLOAMING_INLINE void lag(Vector (&rows)[kTileRows], Vector* earlier) {
    Vector kept[delay];
#pragma GCC unroll 4
    for (uint32_t r = 0; r < delay; ++r) kept[r] = rows[kTileRows - delay + r];
#pragma GCC unroll 8
    for (uint32_t k = 0; k < kTileRows; ++k) {
      const uint32_t r = kTileRows - 1 - k;  // downwards: the rows above are still read unchanged
      rows[r] = Lanes::template blend<delay>(rows[r], r >= delay ? rows[(r - delay) % kTileRows] : earlier[r]);
    }
#pragma GCC unroll 4
    for (uint32_t r = 0; r < delay; ++r) earlier[r] = kept[r];
  }

  Vector earlier_[7];  // 1 + 2 + 4 rows as they were before each delay
  Vector ring_[kTiles * kTileRows];
  uint32_t tile_ = 0;
};

}  // namespace
}  // namespace gloaming

#endif
