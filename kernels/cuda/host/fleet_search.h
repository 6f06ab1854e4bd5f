/* MaxSim searches on the fleet, as jobs of the pool: one chunk of a job is the work of one GPU. */
#ifndef GLOAMING_CUDA_FLEET_SEARCH_H
#define GLOAMING_CUDA_FLEET_SEARCH_H

#include "cuda/host/sweep_search.h"
#include "engine/search.h"

namespace gloaming {
namespace cuda {

class FleetSearch : public SumsSearch {
 public:
  /* Shape  eligible: ascending target indices, none for all
   *        wanted: the sums of the best so many of each query, and of all that tie with the last of them, are enough;
   *        only those leave the GPUs, and they have no excesses
   * Range  floor 0..32,767: best dot products count by what they are above it, too; none where nobody asks */
  FleetSearch(Fleet& fleet, const Kernels& kernels, std::shared_ptr<const Store> store, std::vector<OwnedQuery> queries,
              std::optional<std::vector<uint32_t>> eligible, std::optional<uint32_t> wanted, Done done,
              std::optional<int32_t> floor = std::nullopt);

  /** With wanted, the targets that sums[q] are of, ascending. */
  std::vector<std::vector<uint32_t>> targets;

 protected:
  uint64_t prepare() override;
  void run(uint64_t chunk, Workspace& workspace) override;
  void finish(std::exception_ptr failure) override;

 private:
  void mergeBest();

  Fleet& fleet_;
  const std::vector<OwnedQuery> queries_;
  const std::optional<std::vector<uint32_t>> eligible_;
  const std::optional<uint32_t> wanted_;
  const std::optional<int32_t> floor_;
  /** By part of the release, then by query; items are targets of the release. */
  std::vector<std::vector<Best>> bests_;
  std::shared_ptr<const ResidentRelease> release_;
};

/* The listed targets of a part, numbered as the part does.
 * Returns  how many targets of the list come before */
size_t listOfPart(const std::vector<uint32_t>& eligible, const ReleasePart& part, std::vector<uint32_t>& own);

}  // namespace cuda
}  // namespace gloaming

#endif
