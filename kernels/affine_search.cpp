#include <algorithm>
#include <numeric>

#include "search.h"

namespace gloaming {
namespace {

void checkParameters(const AffineParameters& p) {
  if (p.multiplier < 1 || p.multiplier > INT16_MAX) throw ShapeError("the multiplier must be 1 to 32,767");
  // Below −16,384 a substitution score could pass int16, and a sum of them int32.
  if (p.offset < -16'384 || p.offset > INT16_MAX) throw ShapeError("the offset must be -16,384 to 32,767");
  if (p.gapExtend < 0 || p.gapExtend > p.gapOpen || p.gapOpen > 4'095) {
    throw ShapeError("the gap costs must be 0 <= gapExtend <= gapOpen <= 4,095");
  }
}

}  // namespace

AffineSearch::AffineSearch(const Kernels& kernels, std::shared_ptr<const Store> store, OwnedQuery query,
                           std::vector<uint32_t> targets, AffineParameters parameters, bool aligns, Done done)
    : Search(kernels, std::move(store), std::move(done)), query_(std::move(query)), targets_(std::move(targets)),
      parameters_(parameters), aligns_(aligns) {}

/* One chunk per target, the longest first, so that none of them is begun last. */
uint64_t AffineSearch::prepare() {
  checkParameters(parameters_);
  store_->checkFile();
  checkTargets(targets_, false);
  query_.pack(kernels_.affinePackedBytes, kernels_.affinePack);
  if (aligns_) alignments.resize(targets_.size());
  else scores.resize(targets_.size());
  order_.resize(targets_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [this](uint32_t a, uint32_t b) {
    return store_->length(targets_[a]) > store_->length(targets_[b]);
  });
  return order_.size();
}

void AffineSearch::run(uint64_t chunk, Workspace& workspace) {
  const uint32_t item = order_[chunk], target = targets_[item];
  const PackedQuery query = query_.view();
  const AffineTask task{query, store_->rows(target), store_->length(target), parameters_, workspace, cancelled_};
  if (!aligns_) {
    scores[item] = kernels_.affineScore(task);
    return;
  }
  const AffineAlignment alignment = kernels_.affineAlign(task);
  alignments[item] = {alignment, std::vector<uint32_t>(alignment.runs, alignment.runs + alignment.runCount)};
}

}  // namespace gloaming
