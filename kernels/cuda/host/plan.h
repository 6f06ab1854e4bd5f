/* The plan of a search before any launch: packed tokens, chunks of targets, batches of queries. */
#ifndef GLOAMING_CUDA_PLAN_H
#define GLOAMING_CUDA_PLAN_H

#include <vector>

#include "cuda/sweep.h"
#include "kernels.h"

namespace gloaming {
namespace cuda {

/* Writes groupsOf(length) groups; the padding repeats the last row. */
void packTarget(const int8_t* rows, uint32_t length, uint32_t dimension, uint8_t* packed);

/* Packs rows first … first + count − 1 of a query for the variant: whole tiles, whose padding repeats the last row. */
void packQuery(Variant variant, const Tokens& query, uint32_t first, uint32_t count, uint8_t* packed);
inline uint32_t queryTilesOf(Variant variant, uint32_t dimension, uint32_t rows) {
  const uint32_t tileRows = shapeOf(variant, dimension).queryRows();
  return (rows + tileRows - 1) / tileRows;
}

/** Queries, or rows of one query, of one launch. */
struct Batch {
  /** By place in the list of queries; one for each part. */
  std::vector<uint32_t> queries;
  std::vector<QueryPart> parts;
  /** First row of the query in parts[0]; 0 except for panels. */
  uint32_t firstRow;
  bool isFirstPanel, isLastPanel;

  bool isPanel() const { return !isFirstPanel || !isLastPanel; }
  uint32_t tileCount() const { return parts.back().firstTile + parts.back().tileCount; }
};

/* Batches of at most mostQueries, in the order of the queries; only a query that alone takes more than capacityTiles is
 * cut into panels.
 * Range  capacityTiles ≥ 1, 1 ≤ mostQueries ≤ kMaxLaunchQueries */
std::vector<Batch> planBatches(const std::vector<uint32_t>& queryLengths, uint32_t tileRows, uint32_t capacityTiles,
                               uint32_t mostQueries = kMaxLaunchQueries);

/** Neighbouring places of the list in one launch. A search may be cancelled between two launches. */
struct Slice {
  std::vector<Chunk> chunks;
  uint32_t groupCount;
};

/* Cuts a list of targets into slices of at least sliceGroups groups, and these into chunks of at least chunkGroups; a
 * target is never cut. Chunks with many groups come first, so that no team starts a giant when the others are done.
 *
 * Shape  lengths: rows of each listed target, in list order */
std::vector<Slice> planSlices(const std::vector<uint32_t>& lengths, uint64_t sliceGroups, uint32_t chunkGroups);

}  // namespace cuda
}  // namespace gloaming

#endif
