/* The tile instructions, one function each; test/emulated_tiles.h has the same functions in plain C++. */
#ifndef GLOAMING_AMX_TILES_H
#define GLOAMING_AMX_TILES_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gloaming {

/** Operand of ldtilecfg: the rows of each tile, and the bytes of one row. */
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t startRow = 0;
  uint8_t reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};

  void set(uint32_t tile, uint8_t rowCount, uint32_t bytes) {
    rows[tile] = rowCount;
    rowBytes[tile] = static_cast<uint16_t>(bytes);
  }
};
static_assert(sizeof(TileShapes) == 64, "the processor reads 64 bytes");

namespace {

/** Tiles of the current thread. Their values are undefined at first. The thread keeps the shapes for its next call:
 * setting them takes as long as 20 multiplications, more than a whole call with a short query. The price is small: the
 * system saves 8 KiB when the thread waits. */
class Tiles {
 public:
  explicit Tiles(const TileShapes& shapes) {
    TileShapes current;
    asm volatile("sttilecfg %0" : "=m"(current));
    if (std::memcmp(&current, &shapes, sizeof shapes) != 0) asm volatile("ldtilecfg %0" : : "m"(shapes));
  }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  template <int tile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(tile));
  }
  template <int tile>
  void load(const void* from, size_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(tile) : "memory");
  }
  template <int tile>
  void store(void* to, size_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(tile) : "memory");
  }
  /* sums [m × n int32] += rows [m × k int8] × quads [k ÷ 4 × n × 4 int8] */
  template <int sums, int rows, int quads>
  void multiplyAdd() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sums), "i"(rows), "i"(quads));
  }
  /* sums [m × n int32] += rows [m × k int8] × quads [k ÷ 4 × n × 4 uint8] */
  template <int sums, int rows, int quads>
  void multiplyAddUnsigned() {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sums), "i"(rows), "i"(quads));
  }
};

}  // namespace
}  // namespace gloaming

#endif
