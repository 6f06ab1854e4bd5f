/* MaxSim searches on the fleet, as jobs of the pool: one chunk of a job is the work of one GPU. */
#ifndef GLOAMING_CUDA_FLEET_SEARCH_H
#define GLOAMING_CUDA_FLEET_SEARCH_H

#include "cuda/host/sweep_search.h"
#include "engine/search.h"

namespace gloaming {
namespace cuda {

class FleetSearch : public SumsSearch {
 public:
  /* Shape  eligible: ascending target indices, all targets without it
   *        wanted: returns the sums of only this many best targets of each query, and of all ties with the last of
   *        them, without excesses
   * Range  floor 0..32,767, of the excess, which is not computed without it */
  FleetSearch(Fleet& fleet, const Kernels& kernels, std::shared_ptr<const Store> store, std::vector<OwnedQuery> queries,
              std::optional<std::vector<uint32_t>> eligible, std::optional<uint32_t> wanted, Done done,
              std::optional<int32_t> floor = std::nullopt);

  /** With wanted, the targets of sums[q], ascending. */
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

/* Selects the listed targets of a part, numbered within the part.
 * Returns  the number of listed targets before the part */
size_t listOfPart(const std::vector<uint32_t>& eligible, const ReleasePart& part, std::vector<uint32_t>& own);

}  // namespace cuda
}  // namespace gloaming

#endif
