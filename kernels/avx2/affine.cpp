/* The lanes of wavefront.h with AVX2: 16 scores of 16 bits, or 8 of 32 bits; dot products by vpmaddubsw, whose signed
 * side is the query.
 *
 * A packed strip is a StripHead, a vector for each quad and block of eight query tokens, and its extra quads (bytes.h),
 * likewise. */
#include "avx2/avx2.h"
#include "avx2/bytes.h"
#include "affine_exports.h"

namespace gloaming {
namespace {

/** Query tokens in a vector of quads. */
constexpr uint32_t kBlockTokens = 8;

struct StripHead {
  /** Of each query token. */
  alignas(64) int32_t corrections[2 * kBlockTokens];
  uint32_t extraCount;
  /** The quad of each extra one. */
  uint8_t extraQuads[kMaxDimension / 4];
};

/* A row of the query; beyond its end, the last row. */
inline const int8_t* rowAt(const Tokens& query, uint32_t token) {
  return query.values + size_t{token < query.length ? token : query.length - 1} * query.dimension;
}

inline size_t stripBytesOf(uint32_t dimension, uint32_t lanes) {
  return sizeof(StripHead) + size_t{2} * dimension * lanes;
}

/* Packs the tokens tokenOf(0) … tokenOf(lanes − 1). */
template <uint32_t lanes, class TokenOf>
inline void packStrip(const Tokens& query, TokenOf tokenOf, uint8_t* to) {
  auto* head = reinterpret_cast<StripHead*>(to);
  int8_t* quads = reinterpret_cast<int8_t*>(to + sizeof(StripHead));
  int8_t* extras = quads + size_t{lanes} * query.dimension;
  std::memset(head, 0, sizeof *head);
  for (uint32_t k = 0; k < query.dimension; k += 4) {
    int32_t any = 0, values[lanes];
    for (uint32_t l = 0; l < lanes; ++l, quads += 4) {
      std::memcpy(quads, rowAt(query, tokenOf(l)) + k, 4);
      head->corrections[l] += quads[0] + quads[1] + quads[2] + quads[3];
      any |= values[l] = splitQuad(quads);
    }
    if (any == 0) continue;
    std::memcpy(extras, values, sizeof values);
    extras += sizeof values;
    head->extraQuads[head->extraCount++] = static_cast<uint8_t>(k / 4);
  }
  for (int32_t& correction : head->corrections) correction = correctionOf(correction);
}

/* Dot products of kBlocks × 8 query tokens with eight rows. Sixteen registers do not hold the sums beside the steps of
 * the wavefront, so `finish` computes them all at once. */
template <uint32_t kBlocks>
class Multiplier {
 public:
  GLOAMING_INLINE Multiplier(const AffineTask& task, const int8_t* rows, const uint8_t* packed)
      : target_(rows), head_(reinterpret_cast<const StripHead*>(packed)),
        quads_(reinterpret_cast<const __m256i*>(packed + sizeof(StripHead))), dimension_(task.query.tokens.dimension) {}

  /* Selects the eight rows from `first` on. The results of those beyond the target are undefined. */
  void begin(uint32_t first, uint32_t) { rows_ = target_ + size_t{first} * dimension_; }
  void advance() {}

 protected:
  __attribute__((noinline)) void multiply(__m256i (&sums)[kBlocks][kTileRows]) const {
    const uint32_t quads = static_cast<uint32_t>(dimension_ / 4);
    for (uint32_t half = 0; half < kTileRows; half += 4) {
      const int8_t* rows = rows_ + half * dimension_;
      __m256i own[kBlocks][4];
#pragma GCC unroll 2
      for (uint32_t b = 0; b < kBlocks; ++b) {
        const __m256i correction = _mm256_load_si256(reinterpret_cast<const __m256i*>(head_->corrections) + b);
#pragma GCC unroll 4
        for (uint32_t r = 0; r < 4; ++r) own[b][r] = correction;
      }
      multiplyQuads<Unsigned::kRows>(quads_, rows, dimension_, quads, own);
      for (uint32_t k = 0; k < head_->extraCount; ++k) {
        multiplyQuad<Unsigned::kRows>(quads_ + size_t{quads + k} * kBlocks, rows + head_->extraQuads[k] * 4, dimension_,
                                      own);
      }
#pragma GCC unroll 8
      for (uint32_t k = 0; k < kBlocks * 4; ++k) sums[k / 4][half + k % 4] = own[k / 4][k % 4];
    }
  }

 private:
  const int8_t* const target_;
  const StripHead* const head_;
  const __m256i* const quads_;
  const size_t dimension_;
  const int8_t* rows_ = nullptr;
};

/** Compile-time masks: all bits in the lanes whose number has the bit `delay`. */
template <class Score, uint32_t lanes, uint32_t delay>
struct Lagging {
  alignas(32) Score mask[lanes];
  constexpr Lagging() : mask() {
    for (uint32_t l = 0; l < lanes; ++l) mask[l] = (l & delay) != 0 ? -1 : 0;
  }
};

struct Common {
  using Vector = __m256i;
  using Word = uint32_t;
  /** Rows of the target + 128; the last tile is full. */
  using Context = const int8_t*;

  static Context prepare(const AffineTask& task) {
    const size_t bytes = size_t{task.targetLength} * task.query.tokens.dimension;
    const size_t padded = size_t{roundUp(task.targetLength, kTileRows)} * task.query.tokens.dimension;
    auto* rows = static_cast<int8_t*>(task.workspace.reserve(Workspace::kRows, padded));
    biasBytes(task.target, bytes, rows);
    std::memset(rows + bytes, 0, padded - bytes);
    return rows;
  }
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const void* from) { return _mm256_load_si256(static_cast<const __m256i*>(from)); }
  static void store(void* to, Vector v) { _mm256_store_si256(static_cast<__m256i*>(to), v); }
  /* A bit for each byte. */
  static Word toWord(Vector lanesSet) { return static_cast<Word>(_mm256_movemask_epi8(lanesSet)); }
  /* v moved up by one score of `bytes` bytes across the halves; the last score of `before` comes first. */
  template <int bytes>
  static Vector shiftBytes(Vector v, __m128i before) {
    const Vector lower = _mm256_inserti128_si256(_mm256_castsi128_si256(before), _mm256_castsi256_si128(v), 1);
    return _mm256_alignr_epi8(v, lower, 16 - bytes);
  }
  static __m128i loadHalf(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
};

struct Narrow : Common {
  using Score = int16_t;
  static constexpr uint32_t lanes = 16, flagBits = 2;
  static constexpr int32_t largest = INT16_MAX, never = INT16_MIN;

  static constexpr size_t profileStripBytes = lanes * kProfileWidth;
  static size_t stripBytes(uint32_t dimension) { return stripBytesOf(dimension, lanes); }
  static size_t packedBytes(const Tokens& query) {
    return roundUp(query.length, lanes) / lanes * stripBytes(query.dimension);
  }

  static void pack(const Tokens& query, uint8_t* to) {
    for (uint32_t first = 0; first < query.length; first += lanes, to += stripBytes(query.dimension)) {
      // The order of joinHalves.
      packStrip<lanes>(
          query, [=](uint32_t l) { return first + l % 8 * 2 + l / 8; }, to);
    }
  }
  /* The layout of addProfileRows. */
  static void packProfile(const Tokens& profile, uint32_t strip, uint8_t* to) {
    for (uint32_t k = 0; k < kProfileValues; k += 4) {
      for (uint32_t l = 0; l < lanes; ++l, to += 4) {
        std::memcpy(to, rowAt(profile, strip * lanes + l % 8 * 2 + l / 8) + k, 4);
      }
    }
  }
  static GLOAMING_INLINE void addProfiles(const uint8_t* packed, const int8_t* profiles, Vector weight,
                                          Vector (&rows)[kTileRows]) {
    addProfileRows(reinterpret_cast<const __m256i*>(packed), profiles, weight, rows);
  }

  class Products : public Multiplier<2> {
   public:
    GLOAMING_INLINE Products(const AffineTask& task, Context rows, const uint8_t* packed, int8_t*)
        : Multiplier(task, rows, packed), multiplier(broadcast(task.parameters.multiplier)) {}

    GLOAMING_INLINE void finish(Vector (&rows)[kTileRows]) const {
      __m256i sums[2][kTileRows];
      multiply(sums);
#pragma GCC unroll 8
      for (uint32_t r = 0; r < kTileRows; ++r) {
        rows[r] = _mm256_mulhi_epi16(joinHalves(sums[0][r], sums[1][r]), multiplier);
      }
    }

   private:
    const Vector multiplier;
  };

  static Vector broadcast(int32_t value) { return _mm256_set1_epi16(static_cast<int16_t>(value)); }
  static Vector minusLane() {
    return _mm256_setr_epi16(0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15);
  }
  static Vector add(Vector a, Vector b) { return _mm256_adds_epi16(a, b); }
  /* Wraps: a target has up to 65,535 rows. */
  static Vector next(Vector row) { return _mm256_add_epi16(row, _mm256_set1_epi16(1)); }
  static Vector subtract(Vector a, Vector b) { return _mm256_sub_epi16(a, b); }
  static Vector max(Vector a, Vector b) { return _mm256_max_epi16(a, b); }
  static Word greater(Vector a, Vector b) { return toWord(_mm256_cmpgt_epi16(a, b)); }
  static Word equal(Vector a, Vector b) { return toWord(_mm256_cmpeq_epi16(a, b)); }
  static Vector selectGreater(Vector a, Vector b, Vector yes, Vector no) {
    return _mm256_blendv_epi8(no, yes, _mm256_cmpgt_epi16(a, b));
  }
  template <uint32_t delay>
  static Vector blend(Vector now, Vector earlier) {
    static constexpr Lagging<Score, lanes, delay> lagging;
    return _mm256_blendv_epi8(now, earlier, load(lagging.mask));
  }
  template <uint32_t first>
  static Vector fromEight(Vector now, Vector earlier) {
    static_assert(first == 8, "there are two eights");
    return _mm256_blend_epi32(now, earlier, 0xf0);
  }
  static Vector shiftIn(Vector v, const Score* first) { return shiftBytes<2>(v, loadHalf(first - 7)); }
  static void storeLast(Score* to, Vector v) { *to = static_cast<Score>(_mm256_extract_epi16(v, 15)); }
};

struct Wide : Common {
  using Score = int32_t;
  static constexpr uint32_t lanes = 8, flagBits = 4;
  static constexpr int32_t largest = INT32_MAX, never = -(1 << 30);

  static constexpr size_t profileStripBytes = lanes * kProfileWidth;
  static size_t stripBytes(uint32_t dimension) { return stripBytesOf(dimension, lanes); }
  static size_t packedBytes(const Tokens& query) {
    return roundUp(query.length, lanes) / lanes * stripBytes(query.dimension);
  }

  static void pack(const Tokens& query, uint8_t* to) {
    for (uint32_t first = 0; first < query.length; first += lanes, to += stripBytes(query.dimension)) {
      packStrip<lanes>(
          query, [=](uint32_t l) { return first + l; }, to);
    }
  }
  /* By quad. */
  static void packProfile(const Tokens& profile, uint32_t strip, uint8_t* to) {
    for (uint32_t k = 0; k < kProfileValues; k += 4, to += 4 * lanes) {
      for (uint32_t l = 0; l < lanes; ++l) std::memcpy(to + 4 * l, rowAt(profile, strip * lanes + l) + k, 4);
    }
  }
  static GLOAMING_INLINE void addProfiles(const uint8_t* packed, const int8_t* profiles, Vector weight,
                                          Vector (&rows)[kTileRows]) {
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) {
      Vector halves = zero();
#pragma GCC unroll 5
      for (uint32_t k = 0; k < kProfileValues; k += 4) {
        int32_t quad;
        std::memcpy(&quad, profiles + r * kProfileWidth + k, sizeof quad);
        halves = _mm256_add_epi16(halves, _mm256_maddubs_epi16(load(packed + k * lanes), broadcast(quad)));
      }
      const Vector sums = _mm256_madd_epi16(halves, _mm256_set1_epi16(1));
      const Vector bits = _mm256_castps_si256(_mm256_cvtepi32_ps(add(sums, broadcast(1))));
      // The bits hold L + 2^17.
      const Vector logs = subtract(_mm256_srli_epi32(bits, 13), broadcast(1 << 17));
      rows[r] = add(rows[r], _mm256_srai_epi32(_mm256_mullo_epi32(logs, weight), 16));
    }
  }

  class Products : public Multiplier<1> {
   public:
    GLOAMING_INLINE Products(const AffineTask& task, Context rows, const uint8_t* packed, int8_t*)
        : Multiplier(task, rows, packed), multiplier(broadcast(task.parameters.multiplier)) {}

    GLOAMING_INLINE void finish(Vector (&rows)[kTileRows]) const {
      __m256i sums[1][kTileRows];
      multiply(sums);
#pragma GCC unroll 8
      for (uint32_t r = 0; r < kTileRows; ++r) {
        const Vector dots = _mm256_srai_epi32(add(sums[0][r], _mm256_slli_epi32(sums[0][r], 16)), 16);
        rows[r] = _mm256_srai_epi32(_mm256_mullo_epi32(dots, multiplier), 16);
      }
    }

   private:
    const Vector multiplier;
  };

  static Vector broadcast(int32_t value) { return _mm256_set1_epi32(value); }
  static Vector minusLane() { return _mm256_setr_epi32(0, -1, -2, -3, -4, -5, -6, -7); }
  static Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  static Vector next(Vector row) { return _mm256_add_epi32(row, _mm256_set1_epi32(1)); }
  static Vector subtract(Vector a, Vector b) { return _mm256_sub_epi32(a, b); }
  static Vector max(Vector a, Vector b) { return _mm256_max_epi32(a, b); }
  static Word greater(Vector a, Vector b) { return toWord(_mm256_cmpgt_epi32(a, b)); }
  static Word equal(Vector a, Vector b) { return toWord(_mm256_cmpeq_epi32(a, b)); }
  static Vector selectGreater(Vector a, Vector b, Vector yes, Vector no) {
    return _mm256_blendv_epi8(no, yes, _mm256_cmpgt_epi32(a, b));
  }
  template <uint32_t delay>
  static Vector blend(Vector now, Vector earlier) {
    constexpr int lagging = delay == 1 ? 0xaa : delay == 2 ? 0xcc : 0xf0;
    return _mm256_blend_epi32(now, earlier, lagging);
  }
  static Vector shiftIn(Vector v, const Score* first) { return shiftBytes<4>(v, loadHalf(first - 3)); }
  static void storeLast(Score* to, Vector v) { *to = _mm256_extract_epi32(v, 7); }
};

}  // namespace

GLOAMING_AFFINE_EXPORTS(avx2, Narrow, Wide)

}  // namespace gloaming
