/* The part of a packed query that batch.h reads. Lanes is its class of lanes. */
#ifndef GLOAMING_BATCH_QUERY_H
#define GLOAMING_BATCH_QUERY_H

#include <cstring>

#include "kernels.h"
#include "skew.h"

namespace gloaming {
namespace {

/** The length of a packed query is padded to a multiple of this, the most rows that lanes multiply together. */
constexpr uint32_t kQueryRound = 16;

/* A query packed for batches. Its parts follow each other, each 64-byte aligned. */
template <class Lanes>
struct BatchQuery {
  /** [kLetterCount × kLetterCount] by query and target letter. */
  const int16_t* bases;
  /** [paddedLength]: initial value of the sums of each row, of Lanes::correctionOf. */
  const int32_t* corrections;
  /** [paddedLength × dimension]: the padding repeats the last row. */
  const int8_t* rows;
  /** [paddedLength × kProfileWidth]: the values, a one, and zeros; the padding repeats the last row. Undefined where
   * profiles score nothing. */
  const int8_t* profile;
  /** What Lanes::splitRows has taken out of the rows. */
  const uint8_t* extras;
  uint32_t paddedLength;

  BatchQuery(const void* packed, uint32_t length, uint32_t dimension) : paddedLength(roundUp(length, kQueryRound)) {
    const auto* bytes = static_cast<const uint8_t*>(packed);
    bases = reinterpret_cast<const int16_t*>(bytes);
    corrections = reinterpret_cast<const int32_t*>(bytes + kBaseBytes);
    rows = reinterpret_cast<const int8_t*>(bytes + kBaseBytes + correctionBytes(paddedLength));
    profile = rows + size_t{paddedLength} * dimension;
    extras = reinterpret_cast<const uint8_t*>(profile + size_t{paddedLength} * kProfileWidth);
  }

  static size_t bytes(uint32_t length, uint32_t dimension) {
    const uint32_t padded = roundUp(length, kQueryRound);
    const size_t rowBytes = size_t{padded} * (dimension + kProfileWidth);
    return kBaseBytes + correctionBytes(padded) + rowBytes + Lanes::extraBytes(padded, dimension);
  }

  static void pack(const AffineQuery& query, void* packed) {
    const auto [values, length, dimension] = query.tokens;
    auto* bases = static_cast<int16_t*>(packed);
    for (uint32_t cell = 0; cell < kLetterCount * kLetterCount; ++cell) {
      const auto own = static_cast<uint8_t>(cell / kLetterCount), other = static_cast<uint8_t>(cell % kLetterCount);
      bases[cell] = static_cast<int16_t>(query.parameters.letterScore(own, other) - query.parameters.offset);
    }
    const BatchQuery parts(packed, length, dimension);
    auto* corrections = const_cast<int32_t*>(parts.corrections);
    auto* to = const_cast<int8_t*>(parts.rows);
    auto* profile = const_cast<int8_t*>(parts.profile);
    for (uint32_t i = 0; i < parts.paddedLength; ++i) {
      const size_t from = i < length ? i : length - 1;
      const int8_t* row = values + from * dimension;
      int32_t sum = 0;
      for (uint32_t k = 0; k < dimension; ++k) sum += to[k] = row[k];
      to += dimension;
      corrections[i] = Lanes::correctionOf(sum);
      if (query.profile == nullptr) continue;
      int8_t* own = profile + size_t{i} * kProfileWidth;
      std::memset(own, 0, kProfileWidth);
      std::memcpy(own, query.profile + from * kProfileWidth, kProfileValues);
      own[kProfileValues] = 1;
    }
    Lanes::splitRows(const_cast<int8_t*>(parts.rows), parts.paddedLength, dimension,
                     const_cast<uint8_t*>(parts.extras));
  }

 private:
  static constexpr size_t kBaseBytes = kLetterCount * kLetterCount * sizeof(int16_t);

  static size_t correctionBytes(uint32_t padded) { return roundUp(padded * sizeof(int32_t), 64); }
};

}  // namespace
}  // namespace gloaming

#endif
