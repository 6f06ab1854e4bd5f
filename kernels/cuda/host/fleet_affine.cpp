#include "cuda/host/fleet_affine.h"

#include "cuda/host/affine_sweep.h"

namespace gloaming {
namespace cuda {

uint64_t FleetAffineSearch::prepare() {
  placeItems();
  if (hasProfiles() || isAligned()) throw ShapeError("GPUs do not score profiles, nor align");
  if (order_.empty()) return 0;
  release_ = fleet_.hold(store_, cancelled_);
  return release_ == nullptr ? 0 : release_->parts.size();
}

void FleetAffineSearch::run(uint64_t chunk, Workspace&) {
  const ReleasePart& part = release_->parts[chunk];
  std::vector<uint32_t> items;
  std::vector<AffineSweep::Listed> list;
  for (const uint32_t item : order_) {
    const uint32_t target = targets_[item];
    if (target < part.firstTarget || target >= part.endTarget) continue;
    items.push_back(item);
    list.push_back({target - part.firstTarget, lengthOf(item)});
  }
  AffineSweep sweep(part, query_.view().tokens, letters_.query.data(), parameters_, cancelled_);
  const auto letters = [&](size_t place, uint8_t* to) { copyLetters(items[place], to); };
  const AffineSweep::Answers found = sweep.run(list, hasLetters() ? AffineSweep::CopyLetters(letters) : nullptr);
  for (size_t place = 0; place < items.size(); ++place) {
    scores[items[place]] = found.scores[place];
    if (work != AffineWork::kMeasures) continue;
    sums.queryToTarget[items[place]] = found.queryToTarget[place];
    sums.targetToQuery[items[place]] = found.targetToQuery[place];
  }
}

void FleetAffineSearch::finish(std::exception_ptr failure) {
  // From now on the release may be evicted, even while the scores are still in use.
  release_.reset();
  AffineSearch::finish(failure);
}

}  // namespace cuda
}  // namespace gloaming
