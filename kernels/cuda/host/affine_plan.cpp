#include "cuda/host/affine_plan.h"

#include <algorithm>
#include <cstring>

namespace gloaming {
namespace cuda {
namespace {

/** Rows of a slice: their edges take an eighth of the memory that a fleet reserves for searches. */
constexpr uint64_t kSliceColumns = (uint64_t{64} << 20) / sizeof(Edge);
/** Multiply-adds of a launch per warp, and per multiprocessor if there are many warps. */
constexpr uint64_t kWarpProducts = 500'000'000, kLaunchProducts = 3'000'000'000;

static_assert(kAffineLetters == kLetterCount, "a strip's table has a row for each letter");

}  // namespace

std::vector<uint8_t> packAffineQuery(const Tokens& query) {
  const auto [values, length, dimension] = query;
  const uint32_t rows = stripsOf(length, dimension) * stripRows(dimension);
  std::vector<uint8_t> packed(size_t{rows} * dimension);
  for (uint32_t row = 0; row < rows; ++row) {
    const int8_t* from = values + size_t{std::min(row, length - 1)} * dimension;
    for (uint32_t byte = 0; byte < dimension; byte += 16) {
      std::memcpy(packed.data() + affineQueryOffset(row, byte, dimension), from + byte, 16);
    }
  }
  return packed;
}

std::vector<uint8_t> packLetterScores(const AffineParameters& parameters, const uint8_t* letters, const Tokens& query) {
  std::vector<uint8_t> packed(size_t{stripsOf(query.length, query.dimension)} * kAffineShared);
  if (parameters.letterScores == nullptr) return packed;
  for (uint32_t row = 0; row < query.length; ++row) {
    for (uint32_t letter = 0; letter < kLetterCount; ++letter) {
      const int32_t score = parameters.letterScore(letters[row], static_cast<uint8_t>(letter));
      packed[affineLetterOffset(row, letter, query.dimension)] = static_cast<uint8_t>(score);
    }
  }
  return packed;
}

std::vector<AffineSlice> planAffine(const std::vector<uint32_t>& lengths, uint32_t queryLength, uint32_t dimension,
                                    uint32_t multiprocessors) {
  const uint32_t strips = stripsOf(queryLength, dimension);
  const uint64_t rowProducts = uint64_t{stripRows(dimension)} * dimension;
  std::vector<AffineSlice> slices;
  for (uint32_t item = 0; item < lengths.size(); ++item) {
    if (slices.empty() || slices.back().columns + lengths[item] > kSliceColumns) {
      const auto fitting = static_cast<uint32_t>(kWarpProducts / (lengths[item] * rowProducts));
      slices.push_back({item, item, 0, std::clamp(fitting, 1u, strips)});
    }
    slices.back().endItem = item + 1;
    slices.back().columns += lengths[item];
  }
  for (AffineSlice& slice : slices) {
    const uint64_t fitting = multiprocessors * kLaunchProducts / (slice.columns * rowProducts);
    slice.panelStrips = static_cast<uint32_t>(std::clamp<uint64_t>(fitting, 1, slice.panelStrips));
  }
  return slices;
}

}  // namespace cuda
}  // namespace gloaming
