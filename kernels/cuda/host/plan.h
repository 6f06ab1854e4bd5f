/* The plan of a search before any launch: packed tokens, chunks of targets, panels of queries. */
#ifndef GLOAMING_CUDA_PLAN_H
#define GLOAMING_CUDA_PLAN_H

#include <memory>
#include <mutex>
#include <vector>

#include "cuda/sweep.h"
#include "kernels.h"

namespace gloaming {
namespace cuda {

/* Writes groupsOf(length) groups; the padding repeats the last row. */
void packTarget(const int8_t* rows, uint32_t length, uint32_t dimension, uint8_t* packed);

/* Packs rows first … first + count − 1 of a query for the variant: whole tiles; the padding repeats the last row. */
void packQuery(Variant variant, const Tokens& query, uint32_t first, uint32_t count, uint8_t* packed);

/** Neighbouring rows of a query: those of one launch. */
struct Panel {
  uint32_t firstRow, rows;
};

/* Cuts a query into the fewest panels, of equal numbers of tiles except for the last.
 * Range  length, mostTiles ≥ 1 */
std::vector<Panel> planPanels(uint32_t length, uint32_t tileRows, uint32_t mostTiles);

/** Neighbouring places of the list in one launch. A search may be cancelled between two launches. */
struct Slice {
  std::vector<Chunk> chunks;
  uint32_t groupCount;
};

/* Cuts a list of targets into slices of at least sliceGroups groups, and these into chunks of at least chunkGroups; a
 * target is never cut. Chunks with a giant come first, so that no warp starts one when the others are done.
 *
 * Shape  lengths: rows of each listed target, in list order */
std::vector<Slice> planSlices(const std::vector<uint32_t>& lengths, uint64_t sliceGroups, uint32_t chunkGroups);

/** The last plan of one list of targets. A plan of half a million targets takes a tenth of their sweep. */
class KeptPlan {
 public:
  /* Returns planSlices of the arguments. All calls have the same lengths. */
  std::shared_ptr<const std::vector<Slice>> of(const std::vector<uint32_t>& lengths, uint64_t sliceGroups,
                                               uint32_t chunkGroups);

 private:
  std::mutex mutex_;
  uint64_t sliceGroups_ = 0;
  uint32_t chunkGroups_ = 0;
  std::shared_ptr<const std::vector<Slice>> slices_;
};

}  // namespace cuda
}  // namespace gloaming

#endif
