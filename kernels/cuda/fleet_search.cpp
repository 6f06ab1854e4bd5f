#include "cuda/fleet_search.h"

#include <algorithm>

namespace gloaming {
namespace cuda {

FleetSearch::FleetSearch(Fleet& fleet, const Kernels& kernels, std::shared_ptr<const Store> store,
                       std::vector<OwnedQuery> queries, std::optional<std::vector<uint32_t>> eligible, Done done)
    : SumsSearch(kernels, std::move(store), std::move(done)), fleet_(fleet), queries_(std::move(queries)),
      eligible_(std::move(eligible)) {}

uint64_t FleetSearch::prepare() {
  store_->checkFile();
  if (eligible_) checkTargets(*eligible_, true);
  const size_t count = eligible_ ? eligible_->size() : store_->targetCount();
  sums.assign(queries_.size(), {std::vector<int32_t>(count), std::vector<int32_t>(count)});
  if (queries_.empty() || count == 0) return 0;
  release_ = fleet_.hold(store_, cancelled_);
  return release_ == nullptr ? 0 : release_->parts.size();
}

void FleetSearch::run(uint64_t chunk, Workspace&) {
  const ReleasePart& part = release_->parts[chunk];
  std::optional<std::vector<uint32_t>> own;
  size_t first = part.firstTarget;
  if (eligible_) first = listOfPart(*eligible_, part, own.emplace());
  std::vector<Tokens> tokens;
  std::vector<int32_t*> queryToTarget, targetToQuery;
  for (size_t q = 0; q < queries_.size(); ++q) {
    tokens.push_back(queries_[q].view().tokens);
    queryToTarget.push_back(sums[q].queryToTarget.data() + first);
    targetToQuery.push_back(sums[q].targetToQuery.data() + first);
  }
  SweepSearch(part, *store_, std::move(tokens), std::move(own), cancelled_).sums(queryToTarget, targetToQuery);
}

void FleetSearch::finish(std::exception_ptr failure) {
  // The release may give way to another from now on, whoever still reads the sums.
  release_.reset();
  SumsSearch::finish(failure);
}

size_t listOfPart(const std::vector<uint32_t>& eligible, const ReleasePart& part, std::vector<uint32_t>& own) {
  const auto begin = std::lower_bound(eligible.begin(), eligible.end(), part.firstTarget);
  const auto end = std::lower_bound(begin, eligible.end(), part.endTarget);
  own.assign(begin, end);
  for (uint32_t& target : own) target -= part.firstTarget;
  return static_cast<size_t>(begin - eligible.begin());
}

}  // namespace cuda
}  // namespace gloaming
