/* The lanes of wavefront.h with NEON: 8 scores of 16 bits, or 4 of 32 bits. */
#include "neon/dot.h"
#include "neon/neon.h"
#include "wavefront.h"

namespace gloaming {
namespace {

/* Dot products of kBlocks × 4 query tokens with eight rows, four rows at a time, computed by `finish`. */
template <uint32_t kBlocks>
class Multiplier {
 public:
  Multiplier(const AffineTask& task, const uint8_t* packed, int8_t* tail)
      : target_(task.target), packed_(reinterpret_cast<const int8_t*>(packed)), dimension_(task.query.tokens.dimension),
        tail_(tail) {}

  /* Selects the rows from `first` on. If fewer than eight are left, the results of the others are undefined. */
  void begin(uint32_t first, uint32_t targetLength) {
    rows_ = target_ + size_t{first} * dimension_;
    if (first + kTileRows <= targetLength) return;
    // Nothing may be read beyond the target.
    std::memcpy(tail_, rows_, size_t{targetLength - first} * dimension_);
    rows_ = tail_;
  }
  void advance() {}

 protected:
  GLOAMING_INLINE void multiply(int32x4_t (&sums)[kBlocks][kTileRows]) const {
    for (uint32_t half = 0; half < kTileRows; half += 4) {
      int32x4_t own[kBlocks][4];
      multiplyRows<kBlocks, 4>(packed_, rows_ + size_t{half} * dimension_, dimension_, own);
#pragma GCC unroll 8
      for (uint32_t k = 0; k < kBlocks * 4; ++k) sums[k / 4][half + k % 4] = own[k / 4][k % 4];
    }
  }

 private:
  const int8_t* const target_;
  const int8_t* const packed_;
  const uint32_t dimension_;
  int8_t* const tail_;
  const int8_t* rows_ = nullptr;
};

/* Bits of x + 1 as float32, of kBlocks × 4 packed profiles and eight rows. */
template <uint32_t kBlocks>
GLOAMING_INLINE void profileBits(const uint8_t* packed, const int8_t* rows, uint32x4_t (&bits)[kBlocks][kTileRows]) {
#pragma GCC unroll 8
  for (uint32_t half = 0; half < kTileRows; half += 4) {
    const auto* query = reinterpret_cast<const int8_t*>(packed);
    int32x4_t sums[kBlocks][4];
#pragma GCC unroll 8
    for (uint32_t k = 0; k < kBlocks * 4; ++k) sums[k / 4][k % 4] = vdupq_n_s32(1);
    int8x16_t first[4], rest[4];
#pragma GCC unroll 4
    for (uint32_t r = 0; r < 4; ++r) {
      first[r] = vld1q_s8(rows + (half + r) * kProfileWidth);
      rest[r] = vld1q_s8(rows + (half + r) * kProfileWidth + 16);
    }
    multiplyQuad<0>(query, first, sums);
    multiplyQuad<1>(query, first, sums);
    multiplyQuad<2>(query, first, sums);
    multiplyQuad<3>(query, first, sums);
    static_assert(kProfileValues == 5 * 4, "a row has five quads");
    multiplyQuad<0>(query + kBlocks * 64, rest, sums);
#pragma GCC unroll 8
    for (uint32_t k = 0; k < kBlocks * 4; ++k) {
      bits[k / 4][half + k % 4] = vreinterpretq_u32_f32(vcvtq_f32_s32(sums[k / 4][k % 4]));
    }
  }
}

/** Shared by both widths: strips of tokens in natural order, without preparation of targets. */
template <uint32_t kBlocks>
struct Common {
  struct Context {};
  static constexpr uint32_t lanes = kBlocks * kLanes, flagBits = 1;
  static constexpr size_t profileStripBytes = lanes * kProfileWidth;

  static Context prepare(const AffineTask&) { return {}; }
  static size_t stripBytes(uint32_t dimension) { return size_t{lanes} * dimension; }
  static size_t packedBytes(const Tokens& query) { return size_t{roundUp(query.length, lanes)} * query.dimension; }
  static void pack(const Tokens& query, uint8_t* packed) {
    auto* to = reinterpret_cast<int8_t*>(packed);
    for (uint32_t first = 0; first < query.length; first += lanes) {
      packBlocks<kBlocks>(query, first, to + size_t{first} * query.dimension);
    }
  }
  static void packProfile(const Tokens& profile, uint32_t strip, uint8_t* to) {
    packBlocks<kBlocks>(profile, strip * lanes, reinterpret_cast<int8_t*>(to));
  }
};

struct Narrow : Common<2> {
  using Vector = int16x8_t;
  using Score = int16_t;
  using Word = uint16_t;
  static constexpr int32_t largest = INT16_MAX, never = INT16_MIN;

  static GLOAMING_INLINE void addProfiles(const uint8_t* packed, const int8_t* profiles, Vector weight,
                                          Vector (&rows)[kTileRows]) {
    uint32x4_t bits[2][kTileRows];
    profileBits(packed, profiles, bits);
    const auto score = [weight](uint32x4_t own) {
      const int16x4_t logs = vreinterpret_s16_u16(vshrn_n_u32(own, 13));
      return vshrn_n_s32(vmull_s16(logs, vget_low_s16(weight)), 16);
    };
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) {
      rows[r] = add(rows[r], vcombine_s16(score(bits[0][r]), score(bits[1][r])));
    }
  }

  class Products : public Multiplier<2> {
   public:
    Products(const AffineTask& task, Context, const uint8_t* packed, int8_t* tail)
        : Multiplier(task, packed, tail), multiplier(static_cast<int16_t>(task.parameters.multiplier)) {}

    GLOAMING_INLINE void finish(Vector (&rows)[kTileRows]) const {
      int32x4_t sums[2][kTileRows];
      multiply(sums);
#pragma GCC unroll 8
      for (uint32_t r = 0; r < kTileRows; ++r) {
        const int32x4_t low = vmulq_n_s32(sums[0][r], multiplier), high = vmulq_n_s32(sums[1][r], multiplier);
        rows[r] = vcombine_s16(vshrn_n_s32(low, 16), vshrn_n_s32(high, 16));
      }
    }

   private:
    const int16_t multiplier;
  };

  static Vector zero() { return vdupq_n_s16(0); }
  static Vector load(const Score* from) { return vld1q_s16(from); }
  static void store(Score* to, Vector v) { vst1q_s16(to, v); }
  static Vector broadcast(int32_t value) { return vdupq_n_s16(static_cast<int16_t>(value)); }
  static Vector minusLane() { return Vector{0, -1, -2, -3, -4, -5, -6, -7}; }
  static Vector add(Vector a, Vector b) { return vqaddq_s16(a, b); }
  /* Wraps: a target has up to 65,535 rows. */
  static Vector next(Vector row) { return vaddq_s16(row, vdupq_n_s16(1)); }
  static Vector subtract(Vector a, Vector b) { return vsubq_s16(a, b); }
  static Vector max(Vector a, Vector b) { return vmaxq_s16(a, b); }
  static Word toWord(uint16x8_t lanesSet) {
    return vaddvq_u16(vandq_u16(lanesSet, uint16x8_t{1, 2, 4, 8, 16, 32, 64, 128}));
  }
  static Word greater(Vector a, Vector b) { return toWord(vcgtq_s16(a, b)); }
  static Word equal(Vector a, Vector b) { return toWord(vceqq_s16(a, b)); }
  static Vector selectGreater(Vector a, Vector b, Vector yes, Vector no) { return vbslq_s16(vcgtq_s16(a, b), yes, no); }
  template <uint32_t delay>
  static Vector blend(Vector now, Vector earlier) {
    return vbslq_s16(vtstq_u16(uint16x8_t{0, 1, 2, 3, 4, 5, 6, 7}, vdupq_n_u16(delay)), earlier, now);
  }
  static Vector shiftIn(Vector v, const Score* first) { return vld1q_lane_s16(first, vextq_s16(v, v, 7), 0); }
  static void storeLast(Score* to, Vector v) { vst1q_lane_s16(to, v, 7); }
};

struct Wide : Common<1> {
  using Vector = int32x4_t;
  using Score = int32_t;
  using Word = uint32_t;
  static constexpr int32_t largest = INT32_MAX, never = -(1 << 30);

  static GLOAMING_INLINE void addProfiles(const uint8_t* packed, const int8_t* profiles, Vector weight,
                                          Vector (&rows)[kTileRows]) {
    uint32x4_t bits[1][kTileRows];
    profileBits(packed, profiles, bits);
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kTileRows; ++r) {
      // The bits hold L + 2^17.
      const Vector logs = vsubq_s32(vreinterpretq_s32_u32(vshrq_n_u32(bits[0][r], 13)), vdupq_n_s32(1 << 17));
      rows[r] = add(rows[r], vshrq_n_s32(vmulq_s32(logs, weight), 16));
    }
  }

  class Products : public Multiplier<1> {
   public:
    Products(const AffineTask& task, Context, const uint8_t* packed, int8_t* tail)
        : Multiplier(task, packed, tail), multiplier(task.parameters.multiplier) {}

    GLOAMING_INLINE void finish(Vector (&rows)[kTileRows]) const {
      int32x4_t sums[1][kTileRows];
      multiply(sums);
#pragma GCC unroll 8
      for (uint32_t r = 0; r < kTileRows; ++r) {
        rows[r] = vshrq_n_s32(vmulq_n_s32(sums[0][r], multiplier), 16);
      }
    }

   private:
    const int32_t multiplier;
  };

  static Vector zero() { return vdupq_n_s32(0); }
  static Vector load(const Score* from) { return vld1q_s32(from); }
  static void store(Score* to, Vector v) { vst1q_s32(to, v); }
  static Vector broadcast(int32_t value) { return vdupq_n_s32(value); }
  static Vector minusLane() { return Vector{0, -1, -2, -3}; }
  static Vector add(Vector a, Vector b) { return vaddq_s32(a, b); }
  static Vector next(Vector row) { return vaddq_s32(row, vdupq_n_s32(1)); }
  static Vector subtract(Vector a, Vector b) { return vsubq_s32(a, b); }
  static Vector max(Vector a, Vector b) { return vmaxq_s32(a, b); }
  static Word toWord(uint32x4_t lanesSet) { return vaddvq_u32(vandq_u32(lanesSet, uint32x4_t{1, 2, 4, 8})); }
  static Word greater(Vector a, Vector b) { return toWord(vcgtq_s32(a, b)); }
  static Word equal(Vector a, Vector b) { return toWord(vceqq_s32(a, b)); }
  static Vector selectGreater(Vector a, Vector b, Vector yes, Vector no) { return vbslq_s32(vcgtq_s32(a, b), yes, no); }
  template <uint32_t delay>
  static Vector blend(Vector now, Vector earlier) {
    return vbslq_s32(vtstq_u32(uint32x4_t{0, 1, 2, 3}, vdupq_n_u32(delay)), earlier, now);
  }
  static Vector shiftIn(Vector v, const Score* first) { return vld1q_lane_s32(first, vextq_s32(v, v, 3), 0); }
  static void storeLast(Score* to, Vector v) { vst1q_lane_s32(to, v, 3); }
};

}  // namespace

size_t neonAffinePackedBytes(uint32_t length, uint32_t dimension) {
  return wavefrontPackedBytes<Narrow, Wide>({nullptr, length, dimension});
}

void neonAffinePack(const AffineQuery& query, void* packed) { wavefrontPack<Narrow, Wide>(query, packed); }
int32_t neonAffineScore(const AffineTask& task) { return wavefrontScore<Narrow, Wide>(task); }
AffineAlignment neonAffineAlign(const AffineTask& task) { return wavefrontAlign<Narrow, Wide>(task); }

}  // namespace gloaming
