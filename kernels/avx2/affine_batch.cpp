/* The lanes of batch.h with AVX2: 16 targets; dot products by vpmaddubsw, whose signed side is the query. */
#include "avx2/avx2.h"
#include "avx2/bytes.h"
#include "batch.h"
#include "batch_tiles.h"

namespace gloaming {
namespace {

/** Query rows that are multiplied together: sixteen registers hold their sums. */
constexpr uint32_t kGroupRows = 4;

/* Lane l of the k-th of eight vectors is the k-th quad of rows[l], with bits flipped: 32 bytes of eight rows. */
inline void transposeQuads(const int8_t* const* rows, __m256i flipped, __m256i* to, uint32_t stride) {
  __m256i own[8], fours[8];
#pragma GCC unroll 8
  for (uint32_t l = 0; l < 8; ++l) {
    own[l] = _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[l])), flipped);
  }
#pragma GCC unroll 2
  for (uint32_t half = 0; half < 8; half += 4) {
    const __m256i low01 = _mm256_unpacklo_epi32(own[half], own[half + 1]);
    const __m256i high01 = _mm256_unpackhi_epi32(own[half], own[half + 1]);
    const __m256i low23 = _mm256_unpacklo_epi32(own[half + 2], own[half + 3]);
    const __m256i high23 = _mm256_unpackhi_epi32(own[half + 2], own[half + 3]);
    fours[half] = _mm256_unpacklo_epi64(low01, low23);
    fours[half + 1] = _mm256_unpackhi_epi64(low01, low23);
    fours[half + 2] = _mm256_unpacklo_epi64(high01, high23);
    fours[half + 3] = _mm256_unpackhi_epi64(high01, high23);
  }
#pragma GCC unroll 4
  for (uint32_t k = 0; k < 4; ++k) {
    to[k * stride] = _mm256_permute2x128_si256(fours[k], fours[k + 4], 0x20);
    to[(k + 4) * stride] = _mm256_permute2x128_si256(fours[k], fours[k + 4], 0x31);
  }
}

/* Extra quads (bytes.h) of a query. A group of rows has those from its start to the next one. */
struct Extras {
  struct Extra {
    uint32_t quad;
    /** Of each row of the group. */
    int32_t values[kGroupRows];
  };

  /** [groups + 1] */
  uint32_t* starts;
  Extra* values;

  Extras(const uint8_t* bytes, uint32_t length)
      : starts(reinterpret_cast<uint32_t*>(const_cast<uint8_t*>(bytes))),
        values(reinterpret_cast<Extra*>(starts + length / kGroupRows + 1)) {}

  static size_t bytes(uint32_t length, uint32_t dimension) {
    const size_t groups = length / kGroupRows;
    return (groups + 1) * sizeof(uint32_t) + groups * (dimension / 4) * sizeof(Extra);
  }
};

struct Lanes16 {
  using Vector = __m256i;
  static constexpr uint32_t lanes = 16;

  /* The base term of the pair score, for each query letter with the residue of each lane. */
  struct Letters {
    alignas(32) int16_t bases[kLetterCount * lanes];
  };

  using Unit = VectorUnit;

  static int32_t correctionOf(int32_t sum) { return gloaming::correctionOf(sum); }
  static size_t extraBytes(uint32_t length, uint32_t dimension) { return Extras::bytes(length, dimension); }
  /* Splits the wide pairs of `length` rows, a multiple of kGroupRows. */
  static void splitRows(int8_t* rows, uint32_t length, uint32_t dimension, uint8_t* to) {
    const Extras extras(to, length);
    uint32_t count = 0;
    for (uint32_t first = 0; first < length; first += kGroupRows, rows += size_t{kGroupRows} * dimension) {
      extras.starts[first / kGroupRows] = count;
      for (uint32_t quad = 0; quad < dimension / 4; ++quad) {
        Extras::Extra extra{quad, {}};
        int32_t any = 0;
        for (uint32_t r = 0; r < kGroupRows; ++r) {
          any |= extra.values[r] = splitQuad(rows + size_t{r} * dimension + size_t{quad} * 4);
        }
        if (any != 0) extras.values[count++] = extra;
      }
    }
    extras.starts[length / kGroupRows] = count;
  }

  /* Two blocks of eight rows, in turn, in the order of joinHalves. */
  static void packColumn(const int8_t* const* rows, uint32_t dimension, int8_t* to) {
    const __m256i topBits = _mm256_set1_epi8(-128);
    for (uint32_t block = 0; block < 2; ++block) {
      const int8_t* own[8];
      for (uint32_t l = 0; l < 8; ++l) own[l] = rows[l * 2 + block];
      auto* vectors = reinterpret_cast<__m256i*>(to) + block;
      for (uint32_t k = 0; k < dimension; k += 32, vectors += 16) {
        transposeQuads(own, topBits, vectors, 2);
        for (const int8_t*& row : own) row += 32;
      }
    }
  }

  /* Two blocks of eight rows, in turn, in the layout of addProfileRows. */
  static void packProfiles(const int8_t* const* rows, int8_t* to) {
    for (uint32_t block = 0; block < 2; ++block) {
      const int8_t* own[8];
      for (uint32_t l = 0; l < 8; ++l) own[l] = rows[l * 2 + block];
      transposeQuads(own, zero(), reinterpret_cast<__m256i*>(to) + block, 2);
    }
  }

  template <bool kMeasures>
  static bool sweep(Unit&, Front<Lanes16>& front, const Column<Lanes16>& column, const Column<Lanes16>&,
                    const QueryCells<Lanes16>& cells) {
    return sweepTiles<kMeasures>(front, column, cells);
  }
  template <bool kMeasures>
  static GLOAMING_INLINE void multiply(Front<Lanes16>& at, const Tile<Lanes16>& tile, const Column<Lanes16>& column,
                                       const BatchQuery<Lanes16>& query, uint32_t i) {
    const auto* tokens = reinterpret_cast<const __m256i*>(column.tokens);
    const size_t dimension = column.dimension;
    const Extras extras(query.extras, query.paddedLength);
    for (uint32_t first = 0; first < kTileRows; first += kGroupRows, i += kGroupRows) {
      __m256i sums[2][kGroupRows];
#pragma GCC unroll 4
      for (uint32_t r = 0; r < kGroupRows; ++r) {
        sums[0][r] = _mm256_set1_epi32(query.corrections[i + r]);
        sums[1][r] = sums[0][r];
      }
      multiplyQuads<Unsigned::kVectors>(tokens, query.rows + i * dimension, dimension, column.dimension / 4, sums);
      const uint32_t* starts = extras.starts + i / kGroupRows;
      for (uint32_t k = starts[0]; k < starts[1]; ++k) {
        const Extras::Extra& extra = extras.values[k];
        multiplyQuad<Unsigned::kVectors>(tokens + size_t{extra.quad} * 2, reinterpret_cast<const int8_t*>(extra.values),
                                         4, sums);
      }
#pragma GCC unroll 4
      for (uint32_t r = 0; r < kGroupRows; ++r) {
        const Vector dots = joinHalves(sums[0][r], sums[1][r]);
        if constexpr (kMeasures) {
          int16_t* closest = tile.closest + (first + r) * lanes;
          store(closest, max(load(closest), dots));
          at.nearest = max(at.nearest, dots);
        }
        store(tile.products + (first + r) * lanes, _mm256_mulhi_epi16(dots, column.multiplier));
      }
    }
  }
  static GLOAMING_INLINE void addProfiles(const Column<Lanes16>& column, const int8_t* rows, int16_t* products) {
    Vector own[kTileRows];
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) own[r] = load(products + r * lanes);
    addProfileRows(reinterpret_cast<const __m256i*>(column.profiles), rows, column.profileWeight, own);
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) store(products + r * lanes, own[r]);
  }
  template <bool kMeasures>
  static GLOAMING_INLINE void advanceAndMultiply(Front<Lanes16>& at, const Tile<Lanes16>& tile,
                                                 const Column<Lanes16>& column, const BatchQuery<Lanes16>& query,
                                                 uint32_t i) {
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) advance(at, tile, column, r);
    multiply<kMeasures>(at, tile, column, query, i);
  }

  static void placeLetters(const uint16_t* letters, const int16_t* bases, Letters& to) {
    // Byte shuffles look up eight bases at a time. They write 0 where the letter is not one of the eight.
    const Vector own = load(letters), eight = _mm256_srli_epi16(own, 3), low = both(own, broadcast(7));
    const Vector bytes = _mm256_add_epi16(_mm256_mullo_epi16(low, broadcast(0x0202)), broadcast(0x0100));
    Vector places[kLetterCount / 8];
    for (uint32_t k = 0; k < kLetterCount / 8; ++k) {
      places[k] = _mm256_or_si256(bytes, _mm256_xor_si256(_mm256_cmpeq_epi16(eight, broadcast(k)), broadcast(-1)));
    }
    for (uint32_t letter = 0; letter < kLetterCount; ++letter) {
      Vector found = zero();
      for (uint32_t k = 0; k < kLetterCount / 8; ++k) {
        const auto* eightBases = reinterpret_cast<const __m128i*>(bases + letter * kLetterCount + k * 8);
        const Vector table = _mm256_broadcastsi128_si256(_mm_load_si128(eightBases));
        found = _mm256_or_si256(found, _mm256_shuffle_epi8(table, places[k]));
      }
      store(to.bases + letter * lanes, found);
    }
  }
  static Vector baseOf(const int16_t*, uint8_t letter, const Letters& letters) {
    return load(letters.bases + letter * lanes);
  }

  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const void* from) { return _mm256_load_si256(static_cast<const __m256i*>(from)); }
  static void store(void* to, Vector v) { _mm256_store_si256(static_cast<__m256i*>(to), v); }
  static Vector broadcast(int32_t value) { return _mm256_set1_epi16(static_cast<int16_t>(value)); }
  static Vector add(Vector a, Vector b) { return _mm256_add_epi16(a, b); }
  static Vector addSaturated(Vector a, Vector b) { return _mm256_adds_epi16(a, b); }
  static Vector subtractToZero(Vector a, Vector b) { return _mm256_subs_epu16(a, b); }
  static Vector max(Vector a, Vector b) { return _mm256_max_epi16(a, b); }
  static Vector both(Vector a, Vector b) { return _mm256_and_si256(a, b); }
  static Vector subtract(Vector a, Vector b) { return _mm256_sub_epi16(a, b); }
  static Vector multiplyHigh(Vector a, Vector b) { return _mm256_mulhi_epi16(a, b); }
  template <uint32_t count>
  static Vector shiftLeft(Vector v) {
    return _mm256_slli_epi16(v, count);
  }
  template <uint32_t count>
  static Vector shiftRight(Vector v) {
    return _mm256_srai_epi16(v, count);
  }
};

}  // namespace

size_t avx2BatchPackedBytes(uint32_t length, uint32_t dimension) {
  return BatchQuery<Lanes16>::bytes(length, dimension);
}

void avx2BatchPack(const AffineQuery& query, void* packed) { BatchQuery<Lanes16>::pack(query, packed); }

void avx2AffineScores(const AffineTask* tasks, uint32_t count, int32_t* scores) {
  scoreBatch<Lanes16>(tasks, count, avx2WavefrontPackedBytes, avx2AffineScore, scores);
}

void avx2AffineMeasures(const AffineTask* tasks, uint32_t count, int32_t* scores, PairSums* sums) {
  measureBatch<Lanes16>(tasks, count, avx2WavefrontPackedBytes, avx2AffineScore, scores, sums);
}

void avx2ProfileScores(const AffineTask* tasks, uint32_t count, int32_t* scores) {
  profileBatch<Lanes16>(tasks, count, avx2WavefrontPackedBytes, scores);
}

}  // namespace gloaming
