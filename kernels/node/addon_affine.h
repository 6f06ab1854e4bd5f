/* Arguments of an affine search, and the choice of CPU or GPUs; a part of addon.cpp. */
#ifndef GLOAMING_ADDON_AFFINE_H
#define GLOAMING_ADDON_AFFINE_H

#include "node/addon_arguments.h"
#include "cuda/host/fleet_affine.h"

namespace gloaming {

struct AffineArguments {
  OwnedQuery query;
  std::vector<uint32_t> targets;
  AffineParameters parameters;
  OwnedLetters letters;
  AffineWork work;
  /** With kAlignmentLists. */
  ListBounds bounds;
};

/* Arguments 1 to 4 of a call.
 * Errors  ShapeError that names the invalid argument */
inline AffineArguments copyAffine(const Napi::CallbackInfo& info, uint32_t dimension) {
  return {copyQuery(info[1], dimension),
          copyIndices(info[2], "the targets"),
          copyParameters(info[3]),
          copyLetters(info[3]),
          workNamed(info[4]),
          copyBounds(info[4])};
}

/* Makes a search on the fleet, or on the CPU if fleet is null. */
inline std::shared_ptr<Search> makeAffine(cuda::Fleet* fleet, const Kernels& kernels,
                                          std::shared_ptr<const Store> store, AffineArguments given,
                                          Search::Done done) {
  auto& [query, targets, parameters, letters, work, bounds] = given;
  if (work == AffineWork::kAlignmentLists) {
    return std::make_shared<AffineSearch>(kernels, std::move(store), std::move(query), std::move(targets), parameters,
                                          std::move(letters), std::move(bounds), std::move(done));
  }
  if (fleet != nullptr) {
    return std::make_shared<cuda::FleetAffineSearch>(*fleet, kernels, std::move(store), std::move(query),
                                                     std::move(targets), parameters, std::move(letters), work,
                                                     std::move(done));
  }
  return std::make_shared<AffineSearch>(kernels, std::move(store), std::move(query), std::move(targets), parameters,
                                        std::move(letters), work, std::move(done));
}

}  // namespace gloaming

#endif
