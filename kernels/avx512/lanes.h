/* Vectors of 32 lanes of 16 bits, and columns of 32 targets: what the lanes of avx512/ and amx/ share. */
#ifndef GLOAMING_AVX512_LANES_H
#define GLOAMING_AVX512_LANES_H

#include "avx512/vnni.h"
#include "skew.h"

namespace gloaming {
namespace {

/** Prefetch distance in rows of a lane. */
constexpr uint32_t kRowsAhead = 4;

/* Lane l of the k-th of eight vectors is the k-th quad of rows[l], with bits flipped: 32 bytes of 16 rows. */
inline void transposeQuads(const int8_t* const* rows, __m512i flipped, __m512i* to) {
  const auto load = [](const int8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
#pragma GCC unroll 2
  for (uint32_t half = 0; half < 2; ++half) {
    __m512i own[4];  // four quads of the rows k, k + 4, k + 8 and k + 12
#pragma GCC unroll 4
    for (uint32_t k = 0; k < 4; ++k) {
      __m512i four = _mm512_castsi128_si512(load(rows[k] + half * 16));
      four = _mm512_inserti32x4(four, load(rows[k + 4] + half * 16), 1);
      four = _mm512_inserti32x4(four, load(rows[k + 8] + half * 16), 2);
      four = _mm512_inserti32x4(four, load(rows[k + 12] + half * 16), 3);
      own[k] = _mm512_xor_si512(four, flipped);
    }
    const __m512i low01 = _mm512_unpacklo_epi32(own[0], own[1]), high01 = _mm512_unpackhi_epi32(own[0], own[1]);
    const __m512i low23 = _mm512_unpacklo_epi32(own[2], own[3]), high23 = _mm512_unpackhi_epi32(own[2], own[3]);
    to[half * 4] = _mm512_unpacklo_epi64(low01, low23);
    to[half * 4 + 1] = _mm512_unpackhi_epi64(low01, low23);
    to[half * 4 + 2] = _mm512_unpacklo_epi64(high01, high23);
    to[half * 4 + 3] = _mm512_unpackhi_epi64(high01, high23);
  }
}

struct Vectors32 {
  using Vector = __m512i;
  using Letters = __m512i;
  static constexpr uint32_t lanes = 32;

  /* Two blocks of 16 rows. packssdw takes four sums of each in turn, so block 0 has lanes 0–3, 8–11, 16–19, 24–27. */
  static void packTwoBlocks(const int8_t* const* rows, uint32_t dimension, __m512i flipped, int8_t* to) {
    auto* vectors = reinterpret_cast<__m512i*>(to);
    for (uint32_t block = 0; block < 2; ++block) {
      const int8_t* own[kLanes];
      for (uint32_t l = 0; l < kLanes; ++l) own[l] = rows[l / 4 * 8 + block * 4 + l % 4];
      for (uint32_t k = 0; k < dimension; k += 32) {
        transposeQuads(own, flipped, vectors);
        vectors += 8;
        for (const int8_t*& row : own) {
          if (k % 64 == 0) _mm_prefetch(row + kRowsAhead * dimension, _MM_HINT_T0);
          row += 32;
        }
      }
    }
  }

  /* Two blocks of 16 rows, in the layout of addEightProfiles. */
  static void packProfiles(const int8_t* const* rows, int8_t* to) {
    for (uint32_t block = 0; block < 2; ++block) {
      const int8_t* own[kLanes];
      for (uint32_t l = 0; l < kLanes; ++l) {
        own[l] = rows[l * 2 + block];
        _mm_prefetch(own[l] + kRowsAhead * kProfileWidth, _MM_HINT_T0);
      }
      transposeQuads(own, zero(), reinterpret_cast<__m512i*>(to) + block * 8);
    }
  }

  static void placeLetters(const uint16_t* letters, const int16_t*, Letters& to) { to = load(letters); }
  static Vector baseOf(const int16_t* bases, uint8_t letter, Letters letters) {
    return _mm512_permutexvar_epi16(letters, load(bases + letter * kLetterCount));
  }

  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector load(const void* from) { return _mm512_load_si512(from); }
  static void store(void* to, Vector v) { _mm512_store_si512(to, v); }
  static Vector broadcast(int32_t value) { return _mm512_set1_epi16(static_cast<int16_t>(value)); }
  static Vector add(Vector a, Vector b) { return _mm512_add_epi16(a, b); }
  static Vector addSaturated(Vector a, Vector b) { return _mm512_adds_epi16(a, b); }
  static Vector subtractToZero(Vector a, Vector b) { return _mm512_subs_epu16(a, b); }
  static Vector max(Vector a, Vector b) { return _mm512_max_epi16(a, b); }
  static Vector both(Vector a, Vector b) { return _mm512_and_si512(a, b); }
  static Vector subtract(Vector a, Vector b) { return _mm512_sub_epi16(a, b); }
  static Vector multiplyHigh(Vector a, Vector b) { return _mm512_mulhi_epi16(a, b); }
  template <uint32_t count>
  static Vector shiftLeft(Vector v) {
    return _mm512_slli_epi16(v, count);
  }
  template <uint32_t count>
  static Vector shiftRight(Vector v) {
    return _mm512_srai_epi16(v, count);
  }
};

}  // namespace
}  // namespace gloaming

#endif
