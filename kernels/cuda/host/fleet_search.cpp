#include "cuda/host/fleet_search.h"

#include <algorithm>

namespace gloaming {
namespace cuda {

FleetSearch::FleetSearch(Fleet& fleet, const Kernels& kernels, std::shared_ptr<const Store> store,
                         std::vector<OwnedQuery> queries, std::optional<std::vector<uint32_t>> eligible,
                         std::optional<uint32_t> wanted, Done done, std::optional<int32_t> floor)
    : SumsSearch(kernels, std::move(store), std::move(done)), targets(wanted ? queries.size() : 0), fleet_(fleet),
      queries_(std::move(queries)), eligible_(std::move(eligible)), wanted_(wanted), floor_(floor) {}

uint64_t FleetSearch::prepare() {
  store_->checkFiles();
  if (eligible_) checkTargets(*eligible_, true);
  const size_t count = eligible_ ? eligible_->size() : store_->targetCount();
  const std::vector<int32_t> room(wanted_ ? 0 : count);
  sums.assign(queries_.size(), {room, room, floor_ ? room : std::vector<int32_t>{}});
  if (queries_.empty() || count == 0) return 0;
  release_ = fleet_.hold(store_, cancelled_);
  if (release_ == nullptr) return 0;
  bests_.resize(release_->parts.size());
  return release_->parts.size();
}

void FleetSearch::run(uint64_t chunk, Workspace&) {
  const ReleasePart& part = release_->parts[chunk];
  std::optional<std::vector<uint32_t>> own;
  size_t first = part.firstTarget;
  if (eligible_) first = listOfPart(*eligible_, part, own.emplace());
  std::vector<Tokens> tokens;
  for (const OwnedQuery& query : queries_) tokens.push_back(query.view().tokens);
  SweepSearch search(part, *store_, std::move(tokens), own, cancelled_, floor_);
  if (wanted_) {
    bests_[chunk] = search.best(*wanted_);
    for (Best& best : bests_[chunk]) {
      for (Found& found : best) found.item = part.firstTarget + (own ? (*own)[found.item] : found.item);
    }
    return;
  }
  std::vector<int32_t*> queryToTarget, targetToQuery, queryExcess;
  for (Sums& found : sums) {
    queryToTarget.push_back(found.queryToTarget.data() + first);
    targetToQuery.push_back(found.targetToQuery.data() + first);
    if (floor_) queryExcess.push_back(found.queryExcess.data() + first);
  }
  search.sums(queryToTarget, targetToQuery, queryExcess);
}

/* Merges the best of each GPU. A target that one GPU omits ranks below all of its results, hence below the best of all
 * GPUs. */
void FleetSearch::mergeBest() {
  const auto lengthOf = [this](uint32_t target) { return store_->length(target); };
  const auto isBefore = [](const Found& a, const Found& b) { return a.item < b.item; };
  for (size_t q = 0; q < queries_.size(); ++q) {
    Best all;
    for (const auto& part : bests_) all.insert(all.end(), part[q].begin(), part[q].end());
    all = keepBest(std::move(all), lengthOf, queries_[q].length(), *wanted_);
    std::sort(all.begin(), all.end(), isBefore);
    for (const Found& found : all) {
      targets[q].push_back(found.item);
      sums[q].queryToTarget.push_back(found.queryToTarget);
      sums[q].targetToQuery.push_back(found.targetToQuery);
    }
  }
}

void FleetSearch::finish(std::exception_ptr failure) {
  try {
    if (wanted_ && failure == nullptr && !isCancelled()) mergeBest();
  } catch (...) {
    failure = std::current_exception();
  }
  // From now on the release may be evicted, even while the sums are still in use.
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
