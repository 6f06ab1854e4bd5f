/* AMX's tiles in plain C++, by the processor's manual. Operations that a processor would reject end the program: shapes
 * that do not match, and tiles without a shape. */
#include "test/emulated_tiles.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "amx/columns.h"
#include "amx/encoder.h"
#include "amx/strips.h"
#include "avx512/avx512.h"

namespace gloaming {
namespace {

/* Columns beyond the shape are zeros, so all loops over them have sixteen steps, which compilers make vectors of.
 * Sanitizers would prevent that, and the test would take several times as long. */
template <class Quad>
__attribute__((noinline, no_sanitize("address", "undefined", "thread"))) void multiplyWhole(
    int8_t (&sums)[16][64], const int8_t (&rows)[16][64], const int8_t (&quads)[16][64], int rowCount, int depth) {
  int32_t columns[64][16];
  for (int k = 0; k < depth; ++k) {
    for (int n = 0; n < 16; ++n) columns[k][n] = static_cast<Quad>(quads[k / 4][n * 4 + k % 4]);
  }
  for (int m = 0; m < rowCount; ++m) {
    int32_t own[16];
    std::memcpy(own, sums[m], sizeof own);
    for (int k = 0; k < depth; ++k) {
      for (int n = 0; n < 16; ++n) own[n] += rows[m][k] * columns[k][n];
    }
    std::memcpy(sums[m], own, sizeof own);
  }
}

class EmulatedTiles {
 public:
  explicit EmulatedTiles(const TileShapes& shapes) : shapes_(shapes) {
    require(reinterpret_cast<uintptr_t>(&shapes) % 64 == 0 && shapes.palette == 1 && shapes.startRow == 0);
    for (int tile = 0; tile < 16; ++tile) {
      require(shapes.rows[tile] <= (tile < 8 ? 16 : 0) && shapes.rowBytes[tile] <= (tile < 8 ? 64 : 0));
      require((shapes.rows[tile] == 0) == (shapes.rowBytes[tile] == 0));
    }
  }

  template <int tile>
  void zero() {
    requireShape(tile);
    std::memset(tiles_[tile], 0, sizeof tiles_[tile]);
  }
  template <int tile>
  void load(const void* from, size_t stride) {
    zero<tile>();
    for (int r = 0; r < shapes_.rows[tile]; ++r) {
      std::memcpy(tiles_[tile][r], static_cast<const int8_t*>(from) + r * stride, shapes_.rowBytes[tile]);
    }
  }
  template <int tile>
  void store(void* to, size_t stride) {
    requireShape(tile);
    for (int r = 0; r < shapes_.rows[tile]; ++r) {
      std::memcpy(static_cast<int8_t*>(to) + r * stride, tiles_[tile][r], shapes_.rowBytes[tile]);
    }
  }
  template <int sums, int rows, int quads>
  void multiplyAdd() {
    multiply<int8_t, sums, rows, quads>();
  }
  template <int sums, int rows, int quads>
  void multiplyAddUnsigned() {
    multiply<uint8_t, sums, rows, quads>();
  }

 private:
  template <class Quad, int sums, int rows, int quads>
  void multiply() {
    static_assert(sums != rows && rows != quads && sums != quads, "the processor refuses a tile named twice");
    for (const int tile : {sums, rows, quads}) requireShape(tile);
    require(shapes_.rows[sums] == shapes_.rows[rows] && shapes_.rowBytes[sums] == shapes_.rowBytes[quads]);
    require(shapes_.rows[quads] * 4 == shapes_.rowBytes[rows]);
    multiplyWhole<Quad>(tiles_[sums], tiles_[rows], tiles_[quads], shapes_.rows[sums], shapes_.rowBytes[rows]);
  }
  static void require(bool holds) {
    if (holds) return;
    std::fprintf(stderr, "emulated tiles: a processor would refuse this\n");
    std::abort();
  }
  void requireShape(int tile) const { require(shapes_.rows[tile] > 0); }

  const TileShapes& shapes_;
  int8_t tiles_[8][16][64];
};

int32_t emulatedMaxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest) {
  return maxsimRowsByTiles<EmulatedTiles>(query, static_cast<const int8_t*>(rows), rowCount, closest);
}

void emulatedAffineScores(const AffineTask* tasks, uint32_t count, int32_t* scores) {
  scoreBatch<TileLanes<EmulatedTiles>>(tasks, count, avx512WavefrontPackedBytes, avx512AffineScore, scores);
}

void emulatedAffineMeasures(const AffineTask* tasks, uint32_t count, int32_t* scores, PairSums* sums) {
  measureBatch<TileLanes<EmulatedTiles>>(tasks, count, avx512WavefrontPackedBytes, avx512AffineScore, scores, sums);
}

void emulatedEncode(const EncoderWeights& model, const uint8_t* letters, uint32_t length, Workspace& workspace,
                    float* vectors) {
  StripEncoder<TileProducts<EmulatedTiles>>(model, length, workspace).run(letters, vectors);
}

}  // namespace

// A line for each operation.
// clang-format off
const Kernels emulatedAmxKernels{"emulated amx",
                                 amxKernels.maxsimPackedBytes, amxKernels.maxsimPack, 0, nullptr,
                                 emulatedMaxsimRows,
                                 amxKernels.affinePackedBytes, amxKernels.affinePack, amxKernels.affineScore,
                                 amxKernels.affineBatch, amxKernels.affineAlone,
                                 emulatedAffineScores, emulatedAffineMeasures, amxKernels.affineAlign,
                                 amxKernels.profileScores, amxKernels.codedRows, amxKernels.kmerRows,
                                 emulatedEncode};
// clang-format on

}  // namespace gloaming
