#include "cuda/host/plan.h"

#include <algorithm>
#include <cstring>

namespace gloaming {
namespace cuda {

void packTarget(const int8_t* rows, uint32_t length, uint32_t dimension, uint8_t* packed) {
  for (uint32_t row = 0; row < groupsOf(length) * kGroupRows; ++row) {
    const int8_t* from = rows + size_t{std::min(row, length - 1)} * dimension;
    for (uint32_t byte = 0; byte < dimension; byte += 16) {
      std::memcpy(packed + coreOffset(row, byte, dimension), from + byte, 16);
    }
  }
}

void packQuery(Variant variant, const Tokens& query, uint32_t first, uint32_t count, uint8_t* packed) {
  const uint32_t dimension = query.dimension;
  const auto* bytes = reinterpret_cast<const uint8_t*>(query.values);
  const auto rowAt = [&](uint32_t row) { return bytes + size_t{first + std::min(row, count - 1)} * dimension; };
  const uint32_t rows = tilesOf(variant, dimension, count) * shapeOf(variant, dimension).tileRows();
  if (variant == Variant::kHopper) {
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t byte = 0; byte < dimension; byte += 16) {
        std::memcpy(packed + coreOffset(row, byte, dimension), rowAt(row) + byte, 16);
      }
    }
    return;
  }
  for (uint32_t group = 0; group < rows / kGroupRows; ++group) {
    for (uint32_t step = 0; step < dimension / kStepBytes; ++step) {
      for (uint32_t lane = 0; lane < 32; ++lane) {
        for (uint32_t index = 0; index < 2; ++index) {
          const Place place = fragmentB(lane, index);
          std::memcpy(packed + operandBOffset(lane, group, step, dimension) + 4 * index,
                      rowAt(group * kGroupRows + place.row) + step * kStepBytes + place.column, 4);
        }
      }
    }
  }
}

std::vector<Panel> planPanels(uint32_t length, uint32_t tileRows, uint32_t mostTiles) {
  const uint32_t tiles = (length + tileRows - 1) / tileRows, panels = (tiles + mostTiles - 1) / mostTiles;
  const uint32_t rows = (tiles + panels - 1) / panels * tileRows;
  std::vector<Panel> plan;
  for (uint32_t row = 0; row < length; row += rows) plan.push_back({row, std::min(rows, length - row)});
  return plan;
}

std::vector<Slice> planSlices(const std::vector<uint32_t>& lengths, uint64_t sliceGroups, uint32_t chunkGroups) {
  std::vector<Slice> slices;
  std::vector<Chunk> giants, others;
  const auto count = static_cast<uint32_t>(lengths.size());
  uint32_t passed = 0;
  for (uint32_t item = 0; item < count;) {
    Chunk chunk{item, item, passed};
    while (chunk.endItem < count && passed - chunk.firstGroup < chunkGroups) {
      passed += groupsOf(lengths[chunk.endItem]);
      ++chunk.endItem;
    }
    item = chunk.endItem;
    (passed - chunk.firstGroup >= 2 * uint64_t{chunkGroups} ? giants : others).push_back(chunk);
    if (passed < sliceGroups && item < count) continue;
    giants.insert(giants.end(), others.begin(), others.end());
    slices.push_back({std::move(giants), passed});
    giants.clear();
    others.clear();
    passed = 0;
  }
  return slices;
}

std::shared_ptr<const std::vector<Slice>> KeptPlan::of(const std::vector<uint32_t>& lengths, uint64_t sliceGroups,
                                                       uint32_t chunkGroups) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (slices_ == nullptr || sliceGroups != sliceGroups_ || chunkGroups != chunkGroups_) {
    slices_ = std::make_shared<const std::vector<Slice>>(planSlices(lengths, sliceGroups, chunkGroups));
    sliceGroups_ = sliceGroups;
    chunkGroups_ = chunkGroups;
  }
  return slices_;
}

}  // namespace cuda
}  // namespace gloaming
