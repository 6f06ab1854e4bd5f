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
  const uint32_t tiles = queryTilesOf(variant, dimension, count);
  if (variant == Variant::kHopper) {
    for (uint32_t row = 0; row < tiles * shapeOf(variant, dimension).queryRows(); ++row) {
      for (uint32_t byte = 0; byte < dimension; byte += 16) {
        std::memcpy(packed + coreOffset(row, byte, dimension), rowAt(row) + byte, 16);
      }
    }
    return;
  }
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    for (uint32_t step = 0; step < dimension / kStepBytes; ++step) {
      for (uint32_t lane = 0; lane < 32; ++lane) {
        for (uint32_t index = 0; index < 4; ++index) {
          const Place place = fragmentA(lane, index);
          std::memcpy(packed + operandAOffset(lane, tile, step, dimension) + 4 * index,
                      rowAt(tile * 16 + place.row) + step * kStepBytes + place.column, 4);
        }
      }
    }
  }
}

std::vector<Batch> planBatches(const std::vector<uint32_t>& queryLengths, uint32_t tileRows, uint32_t capacityTiles,
                               uint32_t mostQueries) {
  std::vector<Batch> batches;
  const uint32_t capacityRows = capacityTiles * tileRows;
  for (uint32_t query = 0; query < queryLengths.size(); ++query) {
    const uint32_t length = queryLengths[query], tiles = (length + tileRows - 1) / tileRows;
    if (tiles > capacityTiles) {
      for (uint32_t row = 0; row < length; row += capacityRows) {
        const uint32_t rows = std::min(capacityRows, length - row);
        const QueryPart part{0, (rows + tileRows - 1) / tileRows, rows};
        batches.push_back({{query}, {part}, row, row == 0, row + rows == length});
      }
      continue;
    }
    const bool joins = !batches.empty() && !batches.back().isPanel() && batches.back().parts.size() < mostQueries &&
                       batches.back().tileCount() + tiles <= capacityTiles;
    if (!joins) batches.push_back({{}, {}, 0, true, true});
    Batch& batch = batches.back();
    const uint32_t firstTile = batch.parts.empty() ? 0 : batch.tileCount();
    batch.queries.push_back(query);
    batch.parts.push_back({firstTile, tiles, length});
  }
  return batches;
}

std::vector<Slice> planSlices(const std::vector<uint32_t>& lengths, uint64_t sliceGroups, uint32_t chunkGroups) {
  std::vector<Slice> slices;
  uint32_t inChunk = chunkGroups;
  for (uint32_t item = 0; item < lengths.size(); ++item) {
    if (slices.empty() || slices.back().groupCount >= sliceGroups) {
      slices.push_back({{}, 0});
      inChunk = chunkGroups;
    }
    Slice& slice = slices.back();
    if (inChunk >= chunkGroups) {
      slice.chunks.push_back({item, item, slice.groupCount});
      inChunk = 0;
    }
    slice.chunks.back().endItem = item + 1;
    slice.groupCount += groupsOf(lengths[item]);
    inChunk += groupsOf(lengths[item]);
  }
  for (Slice& slice : slices) {
    const auto end = [&slice](const Chunk& chunk) {
      return &chunk == &slice.chunks.back() ? slice.groupCount : (&chunk)[1].firstGroup;
    };
    std::vector<std::pair<uint32_t, Chunk>> sized;
    for (const Chunk& chunk : slice.chunks) sized.push_back({end(chunk) - chunk.firstGroup, chunk});
    std::stable_sort(sized.begin(), sized.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::transform(sized.begin(), sized.end(), slice.chunks.begin(), [](const auto& pair) { return pair.second; });
  }
  return slices;
}

}  // namespace cuda
}  // namespace gloaming
