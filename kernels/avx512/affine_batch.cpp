/* The lanes of batch.h with AVX-512: 32 targets; dot products by VNNI. */
#include "avx512/avx512.h"
#include "avx512/cells.h"
#include "avx512/lanes.h"
#include "avx512/tile.h"
#include "batch.h"
#include "batch_tiles.h"

namespace gloaming {
namespace {

template <TileCode kCode>
struct Lanes32 : Vectors32 {
  using Unit = VectorUnit;

  static int32_t correctionOf(int32_t sum) { return -128 * sum; }
  // Sums of 32 bits hold all products.
  static size_t extraBytes(uint32_t, uint32_t) { return 0; }
  static void splitRows(int8_t*, uint32_t, uint32_t, uint8_t*) {}
  static void packColumn(const int8_t* const* rows, uint32_t dimension, int8_t* to) {
    packTwoBlocks(rows, dimension, _mm512_set1_epi8(-128), to);
  }

  template <bool kMeasures>
  static bool sweep(Unit&, Front<Lanes32>& front, const Column<Lanes32>& column, const Column<Lanes32>&,
                    const QueryCells<Lanes32>& cells) {
    return sweepTiles<kMeasures>(front, column, cells);
  }
  template <bool kMeasures>
  static GLOAMING_INLINE void multiply(Front<Lanes32>& at, const Tile<Lanes32>& tile, const Column<Lanes32>& column,
                                       const BatchQuery<Lanes32>& query, uint32_t i) {
    const int8_t* rows = query.rows + size_t{i} * column.dimension;
    const int32_t* corrections = query.corrections + i;
    const auto* tokens = reinterpret_cast<const __m512i*>(column.tokens);
    if constexpr (kCode == TileCode::kAssembly) {
      multiplyEightRowsInto<kMeasures>(tokens, rows, corrections, column.dimension, column.multiplier, tile.products,
                                       tile.closest, at.nearest);
    } else {
      multiplyEightRowsIntoPlainly<kMeasures>(tokens, rows, corrections, column.dimension, column.multiplier,
                                              tile.products, tile.closest, at.nearest);
    }
  }
  static GLOAMING_INLINE void addProfiles(const Column<Lanes32>& column, const int8_t* rows, int16_t* products) {
    const auto* profiles = reinterpret_cast<const __m512i*>(column.profiles);
    if constexpr (kCode == TileCode::kAssembly) {
      addEightProfiles(profiles, rows, column.profileWeight, products);
    } else {
      addEightProfilesPlainly(profiles, rows, column.profileWeight, products);
    }
  }
  template <bool kMeasures>
  static GLOAMING_INLINE void advanceAndMultiply(Front<Lanes32>& at, const Tile<Lanes32>& tile,
                                                 const Column<Lanes32>& column, const BatchQuery<Lanes32>& query,
                                                 uint32_t i) {
    const int8_t* rows = query.rows + size_t{i} * column.dimension;
    const int32_t* corrections = query.corrections + i;
    if constexpr (kCode == TileCode::kAssembly) {
      finishCellsAndMultiply<kMeasures>(at, tile, column, rows, corrections);
    } else {
      finishCellsAndMultiplyPlainly<kMeasures>(at, tile, column, rows, corrections);
    }
  }
};

using AssemblyLanes = Lanes32<TileCode::kAssembly>;
using PlainLanes = Lanes32<TileCode::kIntrinsics>;

}  // namespace

size_t avx512BatchPackedBytes(uint32_t length, uint32_t dimension) {
  return BatchQuery<AssemblyLanes>::bytes(length, dimension);
}

void avx512BatchPack(const AffineQuery& query, void* packed) { BatchQuery<AssemblyLanes>::pack(query, packed); }

void avx512AffineScores(const AffineTask* tasks, uint32_t count, int32_t* scores) {
  scoreBatch<AssemblyLanes>(tasks, count, avx512WavefrontPackedBytes, avx512AffineScore, scores);
}

void avx512AffineMeasures(const AffineTask* tasks, uint32_t count, int32_t* scores, PairSums* sums) {
  measureBatch<AssemblyLanes>(tasks, count, avx512WavefrontPackedBytes, avx512AffineScore, scores, sums);
}

void avx512ProfileScores(const AffineTask* tasks, uint32_t count, int32_t* scores) {
  profileBatch<AssemblyLanes>(tasks, count, avx512WavefrontPackedBytes, scores);
}

void avx512PlainAffineScores(const AffineTask* tasks, uint32_t count, int32_t* scores) {
  scoreBatch<PlainLanes>(tasks, count, avx512WavefrontPackedBytes, avx512AffineScore, scores);
}

void avx512PlainAffineMeasures(const AffineTask* tasks, uint32_t count, int32_t* scores, PairSums* sums) {
  measureBatch<PlainLanes>(tasks, count, avx512WavefrontPackedBytes, avx512AffineScore, scores, sums);
}

void avx512PlainProfileScores(const AffineTask* tasks, uint32_t count, int32_t* scores) {
  profileBatch<PlainLanes>(tasks, count, avx512WavefrontPackedBytes, scores);
}

}  // namespace gloaming
