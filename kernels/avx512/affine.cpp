/* The lanes of wavefront.h with AVX-512: 32 scores of 16 bits, or 16 of 32 bits; dot products by VNNI. */
#include "avx512/avx512.h"
#include "avx512/vnni.h"
#include "affine_exports.h"

namespace gloaming {
namespace {

/* Dot products of kBlocks × 16 query tokens with eight rows, computed in eight parts. */
template <uint32_t kBlocks>
class Multiplier {
 public:
  /* tail: memory of eight rows. A local array here would force the sums out of the registers. */
  GLOAMING_INLINE Multiplier(const AffineTask& task, const int32_t* corrections, const uint8_t* packed, int8_t* tail)
      : target_(task.target), corrections_(corrections), packed_(reinterpret_cast<const __m512i*>(packed)),
        dimension_(task.query.tokens.dimension), tail_(tail) {}

  /* Selects the rows from `first` on. If fewer than eight are left, the results of the others are undefined. */
  GLOAMING_INLINE void begin(uint32_t first, uint32_t targetLength) {
    alignas(64) int32_t padded[kTileRows] = {};
    const int32_t* corrections = corrections_ + first;
    tokens_ = packed_;
    rows_ = target_ + size_t{first} * dimension_;
    if (first + kTileRows > targetLength) {
      // Nothing may be read beyond the target.
      const uint32_t left = targetLength - first;
      std::memcpy(tail_, rows_, size_t{left} * dimension_);
      std::memcpy(padded, corrections, left * sizeof(int32_t));
      rows_ = tail_;
      corrections = padded;
    }
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
      for (uint32_t b = 0; b < kBlocks; ++b) sums[b][r] = _mm512_set1_epi32(corrections[r]);
    }
  }

  /* Computes one of eight parts. */
  GLOAMING_INLINE void advance() {
    const uint32_t rounds = dimension_ / 32;
    const int8_t* high = rows_ + 4 * size_t{dimension_};
    for (uint32_t round = 0; round < rounds; ++round) {
      __m512i block[kBlocks];
#pragma GCC unroll 2
      for (uint32_t b = 0; b < kBlocks; ++b) block[b] = _mm512_load_si512(tokens_ + b);
#pragma GCC unroll 8
      for (uint32_t r = 0; r < kTileRows; ++r) {
        const int8_t* quad = r < 4 ? rows_ + size_t{r} * dimension_ : high + size_t{r - 4} * dimension_;
        const __m512i bytes = _mm512_set1_epi32(loadQuad(quad));
#pragma GCC unroll 2
        for (uint32_t b = 0; b < kBlocks; ++b) multiplyAdd(sums[b][r], block[b], bytes);
      }
      tokens_ += kBlocks;
      rows_ += 4;
      high += 4;
    }
  }

 protected:
  __m512i sums[kBlocks][kTileRows];

 private:
  const int8_t* const target_;
  const int32_t* const corrections_;
  const __m512i* const packed_;
  const size_t dimension_;
  const __m512i* tokens_ = nullptr;
  const int8_t* rows_ = nullptr;
  int8_t* const tail_;
};

/* x + 1 of kBlocks × 16 packed profiles and eight rows. */
template <uint32_t kBlocks>
GLOAMING_INLINE void multiplyProfiles(const uint8_t* packed, const int8_t* rows, __m512i (&sums)[kBlocks][kTileRows]) {
  const __m512i one = _mm512_set1_epi32(1);
#pragma GCC unroll 16
  for (uint32_t k = 0; k < kBlocks * kTileRows; ++k) sums[k / kTileRows][k % kTileRows] = one;
#pragma GCC unroll 5
  for (uint32_t quad = 0; quad < kProfileValues / 4; ++quad) {
    __m512i block[kBlocks];
#pragma GCC unroll 2
    for (uint32_t b = 0; b < kBlocks; ++b) block[b] = _mm512_load_si512(packed + (quad * kBlocks + b) * 64);
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) {
      const __m512i bytes = _mm512_set1_epi32(loadQuad(rows + r * kProfileWidth + quad * 4));
#pragma GCC unroll 2
      for (uint32_t b = 0; b < kBlocks; ++b) multiplyAdd(sums[b][r], block[b], bytes);
    }
  }
}

/* Bits of the sums as float32. */
GLOAMING_INLINE __m512i floatBits(__m512i sums) { return _mm512_castps_si512(_mm512_cvtepi32_ps(sums)); }

template <class Lanes>
void packStrips(const Tokens& query, uint8_t* to) {
  for (uint32_t strip = 0; strip * Lanes::lanes < query.length; ++strip) {
    Lanes::packStrip(query, strip, to + strip * Lanes::stripBytes(query.dimension));
  }
}

struct Common {
  using Vector = __m512i;
  using Context = const int32_t*;

  static Context prepare(const AffineTask& task) {
    auto* corrections =
        static_cast<int32_t*>(task.workspace.reserve(Workspace::kRows, task.targetLength * sizeof(int32_t)));
    correctRows(task.target, task.targetLength, task.query.tokens.dimension, corrections);
    return corrections;
  }
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector load(const void* from) { return _mm512_load_si512(from); }
  static void store(void* to, Vector v) { _mm512_store_si512(to, v); }
  /* Stores the lowest 32 bits. In assembly, because GCC 12 moves them through a general register. */
  static void storeLow(void* to, Vector v) {
    asm("vmovd %1, %0" : "=m"(*static_cast<char(*)[4]>(to)) : "v"(_mm512_castsi512_si128(v)));
  }
};

struct Narrow : Common {
  using Score = int16_t;
  using Word = uint32_t;
  static constexpr uint32_t lanes = 32, flagBits = 1;
  static constexpr int32_t largest = INT16_MAX, never = INT16_MIN;

  static constexpr size_t profileStripBytes = lanes * kProfileWidth;
  static size_t stripBytes(uint32_t dimension) { return size_t{lanes} * dimension; }
  static size_t packedBytes(const Tokens& query) { return size_t{roundUp(query.length, lanes)} * query.dimension; }

  static void pack(const Tokens& query, uint8_t* to) { packStrips<Narrow>(query, to); }
  /* packs_epi32 takes four sums from each block in turn, so block 0 has tokens 0–3, 8–11, 16–19 and 24–27. */
  static void packStrip(const Tokens& query, uint32_t strip, uint8_t* to) {
    for (uint32_t block = 0; block < 2; ++block) {
      const auto tokenOf = [=](uint32_t l) { return strip * lanes + l / 4 * 8 + block * 4 + l % 4; };
      packBlock(query, tokenOf, to + block * 64, 2);
    }
  }
  /* Block 0 has the even tokens, so that their scores are the lower halves of 32 bits. Profiles are not biased. */
  static void packProfile(const Tokens& profile, uint32_t strip, uint8_t* to) {
    for (uint32_t block = 0; block < 2; ++block) {
      packBlock<0>(
          profile, [=](uint32_t l) { return strip * lanes + l * 2 + block; }, to + block * 64, 2);
    }
  }
  static GLOAMING_INLINE void addProfiles(const uint8_t* packed, const int8_t* profiles, Vector weight,
                                          Vector (&rows)[kTileRows]) {
    __m512i sums[2][kTileRows];
    multiplyProfiles(packed, profiles, sums);
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) {
      const Vector even = _mm512_srli_epi32(floatBits(sums[0][r]), 13);
      const Vector odd = _mm512_slli_epi32(floatBits(sums[1][r]), 3);
      rows[r] = add(rows[r], _mm512_mulhi_epi16(_mm512_mask_mov_epi16(even, 0xaaaaaaaa, odd), weight));
    }
  }

  class Products : public Multiplier<2> {
   public:
    GLOAMING_INLINE Products(const AffineTask& task, Context corrections, const uint8_t* packed, int8_t* tail)
        : Multiplier(task, corrections, packed, tail), multiplier(broadcast(task.parameters.multiplier)) {}

    GLOAMING_INLINE void finish(Vector (&rows)[kTileRows]) const {
#pragma GCC unroll 8
      for (uint32_t r = 0; r < kTileRows; ++r) {
        rows[r] = _mm512_mulhi_epi16(_mm512_packs_epi32(sums[0][r], sums[1][r]), multiplier);
      }
    }

   private:
    const Vector multiplier;
  };

  static Vector broadcast(int32_t value) { return _mm512_set1_epi16(static_cast<int16_t>(value)); }
  static Vector minusLane() {
    alignas(64) int16_t values[lanes];
    for (uint32_t l = 0; l < lanes; ++l) values[l] = static_cast<int16_t>(-static_cast<int32_t>(l));
    return load(values);
  }
  static Vector add(Vector a, Vector b) { return _mm512_adds_epi16(a, b); }
  /* Wraps: a target has up to 65,535 rows. */
  static Vector next(Vector row) { return _mm512_add_epi16(row, _mm512_set1_epi16(1)); }
  static Vector subtract(Vector a, Vector b) { return _mm512_sub_epi16(a, b); }
  static Vector max(Vector a, Vector b) { return _mm512_max_epi16(a, b); }
  static Word greater(Vector a, Vector b) { return _mm512_cmpgt_epi16_mask(a, b); }
  static Word equal(Vector a, Vector b) { return _mm512_cmpeq_epi16_mask(a, b); }
  static Vector selectGreater(Vector a, Vector b, Vector yes, Vector no) {
    return _mm512_mask_mov_epi16(no, greater(a, b), yes);
  }
  template <uint32_t delay>
  static Vector blend(Vector now, Vector earlier) {
    constexpr Word lagging = delay == 1 ? 0xaaaaaaaa : delay == 2 ? 0xcccccccc : 0xf0f0f0f0;
    return _mm512_mask_mov_epi16(now, lagging, earlier);
  }
  template <uint32_t first>
  static Vector fromEight(Vector now, Vector earlier) {
    return _mm512_mask_mov_epi16(now, Word{0xff} << first, earlier);
  }
  static Vector rotate(Vector v) {
    alignas(64) static constexpr int16_t from[lanes] = {31, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
                                                        15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};
    return _mm512_permutexvar_epi16(load(from), v);
  }
  static Vector shiftIn(Vector v, const Score* first) { return _mm512_mask_loadu_epi16(rotate(v), 1, first); }
  /* Writes two scores. The second place has been read already, and the next step overwrites it. */
  static void storeLast(Score* to, Vector v) { storeLow(to, rotate(v)); }
};

struct Wide : Common {
  using Score = int32_t;
  using Word = uint16_t;
  static constexpr uint32_t lanes = 16, flagBits = 1;
  static constexpr int32_t largest = INT32_MAX, never = -(1 << 30);

  static constexpr size_t profileStripBytes = lanes * kProfileWidth;
  static size_t stripBytes(uint32_t dimension) { return size_t{lanes} * dimension; }
  static size_t packedBytes(const Tokens& query) { return size_t{roundUp(query.length, lanes)} * query.dimension; }

  static void pack(const Tokens& query, uint8_t* to) { packStrips<Wide>(query, to); }
  static void packStrip(const Tokens& query, uint32_t strip, uint8_t* to) {
    packBlock(
        query, [=](uint32_t l) { return strip * lanes + l; }, to, 1);
  }
  static void packProfile(const Tokens& profile, uint32_t strip, uint8_t* to) {
    packBlock<0>(
        profile, [=](uint32_t l) { return strip * lanes + l; }, to, 1);
  }
  static GLOAMING_INLINE void addProfiles(const uint8_t* packed, const int8_t* profiles, Vector weight,
                                          Vector (&rows)[kTileRows]) {
    __m512i sums[1][kTileRows];
    multiplyProfiles(packed, profiles, sums);
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) {
      // The bits hold L + 2^17.
      const Vector logs = _mm512_sub_epi32(_mm512_srli_epi32(floatBits(sums[0][r]), 13), broadcast(1 << 17));
      rows[r] = add(rows[r], _mm512_srai_epi32(_mm512_mullo_epi32(logs, weight), 16));
    }
  }

  class Products : public Multiplier<1> {
   public:
    GLOAMING_INLINE Products(const AffineTask& task, Context corrections, const uint8_t* packed, int8_t* tail)
        : Multiplier(task, corrections, packed, tail), multiplier(broadcast(task.parameters.multiplier)) {}

    GLOAMING_INLINE void finish(Vector (&rows)[kTileRows]) const {
#pragma GCC unroll 8
      for (uint32_t r = 0; r < kTileRows; ++r) {
        rows[r] = _mm512_srai_epi32(_mm512_mullo_epi32(sums[0][r], multiplier), 16);
      }
    }

   private:
    const Vector multiplier;
  };

  static Vector broadcast(int32_t value) { return _mm512_set1_epi32(value); }
  static Vector minusLane() {
    return _mm512_setr_epi32(0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15);
  }
  static Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  static Vector next(Vector row) { return _mm512_add_epi32(row, _mm512_set1_epi32(1)); }
  static Vector subtract(Vector a, Vector b) { return _mm512_sub_epi32(a, b); }
  static Vector max(Vector a, Vector b) { return _mm512_max_epi32(a, b); }
  static Word greater(Vector a, Vector b) { return _mm512_cmpgt_epi32_mask(a, b); }
  static Word equal(Vector a, Vector b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static Vector selectGreater(Vector a, Vector b, Vector yes, Vector no) {
    return _mm512_mask_mov_epi32(no, greater(a, b), yes);
  }
  template <uint32_t delay>
  static Vector blend(Vector now, Vector earlier) {
    constexpr Word lagging = delay == 1 ? 0xaaaa : delay == 2 ? 0xcccc : 0xf0f0;
    return _mm512_mask_mov_epi32(now, lagging, earlier);
  }
  template <uint32_t first>
  static Vector fromEight(Vector now, Vector earlier) {
    return _mm512_mask_mov_epi32(now, 0xff << first, earlier);
  }
  static Vector rotate(Vector v) { return _mm512_alignr_epi32(v, v, 15); }
  static Vector shiftIn(Vector v, const Score* first) { return _mm512_mask_loadu_epi32(rotate(v), 1, first); }
  static void storeLast(Score* to, Vector v) { storeLow(to, rotate(v)); }
};

}  // namespace

GLOAMING_AFFINE_EXPORTS(avx512, Narrow, Wide)

}  // namespace gloaming
