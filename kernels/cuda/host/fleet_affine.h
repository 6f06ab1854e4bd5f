/* Affine scores, and measures, on the fleet, as jobs of the pool: one chunk of a job is the work of one GPU. */
#ifndef GLOAMING_CUDA_FLEET_AFFINE_H
#define GLOAMING_CUDA_FLEET_AFFINE_H

#include "cuda/host/fleet.h"
#include "engine/search.h"

namespace gloaming {
namespace cuda {

/** An AffineSearch that scores on GPUs. GPUs support neither profiles nor alignments; the CPU does. */
class FleetAffineSearch : public AffineSearch {
 public:
  FleetAffineSearch(Fleet& fleet, const Kernels& kernels, std::shared_ptr<const Store> store, OwnedQuery query,
                    std::vector<uint32_t> targets, AffineParameters parameters, OwnedLetters letters, AffineWork work,
                    Done done)
      : AffineSearch(kernels, std::move(store), std::move(query), std::move(targets), parameters, std::move(letters),
                     work, std::move(done)),
        fleet_(fleet) {}

 protected:
  uint64_t prepare() override;
  void run(uint64_t chunk, Workspace& workspace) override;
  void finish(std::exception_ptr failure) override;

 private:
  Fleet& fleet_;
  std::shared_ptr<const ResidentRelease> release_;
};

}  // namespace cuda
}  // namespace gloaming

#endif
