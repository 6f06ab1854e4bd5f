/* The lanes of batch.h with AVX2: 16 targets; dot products by vpmaddwd. */
#include "avx2/avx2.h"
#include "avx2/madd.h"
#include "batch.h"

namespace gloaming {
namespace {

/* Lane l of the k-th of eight vectors is the k-th pair of rows[l], widened: 16 bytes of eight rows. */
inline void transposePairs(const int8_t* const* rows, __m256i* to, uint32_t stride) {
  __m256i pairs[8], fours[8];
#pragma GCC unroll 8
  for (uint32_t l = 0; l < 8; ++l) {
    pairs[l] = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[l])));
  }
#pragma GCC unroll 2
  for (uint32_t half = 0; half < 2; ++half) {
    const __m256i* own = pairs + half * 4;
    const __m256i low01 = _mm256_unpacklo_epi32(own[0], own[1]), high01 = _mm256_unpackhi_epi32(own[0], own[1]);
    const __m256i low23 = _mm256_unpacklo_epi32(own[2], own[3]), high23 = _mm256_unpackhi_epi32(own[2], own[3]);
    fours[half * 4] = _mm256_unpacklo_epi64(low01, low23);
    fours[half * 4 + 1] = _mm256_unpackhi_epi64(low01, low23);
    fours[half * 4 + 2] = _mm256_unpacklo_epi64(high01, high23);
    fours[half * 4 + 3] = _mm256_unpackhi_epi64(high01, high23);
  }
#pragma GCC unroll 4
  for (uint32_t k = 0; k < 4; ++k) {
    to[k * stride] = _mm256_permute2x128_si256(fours[k], fours[k + 4], 0x20);
    to[(k + 4) * stride] = _mm256_permute2x128_si256(fours[k], fours[k + 4], 0x31);
  }
}

struct Lanes16 {
  using Vector = __m256i;
  using Token = int16_t;
  static constexpr uint32_t lanes = 16;
  static constexpr int32_t bias = 0;

  /* The base term of the pair score, for each query letter with the residue of each lane. */
  struct Letters {
    alignas(32) int16_t bases[kLetterCount * lanes];
  };

  /* Two blocks of eight rows, in turn. packssdw takes four sums of each in turn, so block 0 has lanes 0–3 and 8–11. */
  static void packColumn(const int8_t* const* rows, uint32_t dimension, int16_t* to) {
    for (uint32_t block = 0; block < 2; ++block) {
      const int8_t* own[kLanes];
      for (uint32_t l = 0; l < kLanes; ++l) own[l] = rows[l / 4 * 8 + block * 4 + l % 4];
      auto* vectors = reinterpret_cast<__m256i*>(to) + block;
      for (uint32_t k = 0; k < dimension; k += 16, vectors += 16) {
        transposePairs(own, vectors, 2);
        for (const int8_t*& row : own) row += 16;
      }
    }
  }

  /* Packs a profile for each lane by pairs of bytes, the layout that addProfileRows reads. */
  static void packProfiles(const int8_t* const* rows, int8_t* to) {
    for (uint32_t k = 0; k < kProfileValues; k += 2, to += 2 * lanes) {
      for (uint32_t l = 0; l < lanes; ++l) std::memcpy(to + 2 * l, rows[l] + k, 2);
    }
  }

  template <bool kMeasures>
  static GLOAMING_INLINE void multiply(Front<Lanes16>& at, const Tile<Lanes16>& tile, const Column<Lanes16>& column,
                                       const int16_t* rows, const int32_t*) {
    const auto* tokens = reinterpret_cast<const __m256i*>(column.tokens);
    const uint32_t dimension = column.dimension;
    // Sixteen registers hold the sums of four rows.
    for (uint32_t r = 0; r < kTileRows; r += 4, rows += size_t{4} * dimension) {
      __m256i sums[2][4];
#pragma GCC unroll 8
      for (uint32_t k = 0; k < 8; ++k) sums[k / 4][k % 4] = _mm256_setzero_si256();
      for (uint32_t pair = 0; pair < dimension / 2; ++pair) {
        const __m256i first = _mm256_load_si256(tokens + pair * 2), second = _mm256_load_si256(tokens + pair * 2 + 1);
#pragma GCC unroll 4
        for (uint32_t k = 0; k < 4; ++k) {
          const __m256i two = _mm256_set1_epi32(loadPair(rows + size_t{k} * dimension + pair * 2));
          multiplyAdd(sums[0][k], first, two);
          multiplyAdd(sums[1][k], second, two);
        }
      }
#pragma GCC unroll 4
      for (uint32_t k = 0; k < 4; ++k) {
        const Vector dots = _mm256_packs_epi32(sums[0][k], sums[1][k]);
        if constexpr (kMeasures) {
          int16_t* closest = tile.closest + (r + k) * lanes;
          store(closest, max(load(closest), dots));
          at.nearest = max(at.nearest, dots);
        }
        store(tile.products + (r + k) * lanes, _mm256_mulhi_epi16(dots, column.multiplier));
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
                                                 const Column<Lanes16>& column, const int16_t* rows,
                                                 const int32_t* corrections) {
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) advance(at, tile, column, r);
    multiply<kMeasures>(at, tile, column, rows, corrections);
  }

  static void placeLetters(const uint16_t* letters, const int16_t* bases, Letters& to) {
    for (uint32_t letter = 0; letter < kLetterCount; ++letter) {
      const int16_t* row = bases + letter * kLetterCount;
      for (uint32_t l = 0; l < lanes; ++l) to.bases[letter * lanes + l] = row[letters[l]];
    }
  }
  static Vector baseOf(const int16_t*, uint8_t letter, const Letters& letters) {
    return load(letters.bases + letter * lanes);
  }

  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const void* from) { return _mm256_load_si256(static_cast<const __m256i*>(from)); }
  static void store(void* to, Vector v) { _mm256_store_si256(static_cast<__m256i*>(to), v); }
  static Vector broadcast(int32_t value) { return _mm256_set1_epi16(static_cast<int16_t>(value)); }
  static Vector add(Vector a, Vector b) { return _mm256_adds_epi16(a, b); }
  static Vector subtractToZero(Vector a, Vector b) { return _mm256_subs_epu16(a, b); }
  static Vector max(Vector a, Vector b) { return _mm256_max_epi16(a, b); }
  static Vector both(Vector a, Vector b) { return _mm256_and_si256(a, b); }
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

}  // namespace gloaming
