#include "engine/listed_search.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace gloaming {

ListedSearch::ListedSearch(const Kernels& kernels, std::shared_ptr<const Store> store, std::vector<OwnedQuery> queries,
                           std::vector<std::vector<uint32_t>> lists, int32_t floor, Done done)
    : SumsSearch(kernels, std::move(store), std::move(done)), queries_(std::move(queries)), lists_(std::move(lists)),
      floor_(floor) {}

uint64_t ListedSearch::prepare() {
  store_->checkFiles();
  if (lists_.size() != queries_.size()) {
    throw ShapeError("there are " + std::to_string(lists_.size()) + " lists for " + std::to_string(queries_.size()) +
                     " queries");
  }
  uint32_t longest = 1;
  for (OwnedQuery& query : queries_) {
    query.pack(kernels_.maxsimPackedBytes, kernels_.maxsimPack);
    longest = std::max(longest, query.length());
  }
  for (const auto& list : lists_) {
    checkTargets(list, true);
    const std::vector<int32_t> none(list.size());
    sums.push_back({none, none, none});
  }
  rowsPerCall_ = rowsPerCall(longest, store_->dimension());
  invertLists();
  cutIntoChunks();
  return cuts_.size() - 1;
}

/* Inverts the lists: for each target, the queries that list it. */
void ListedSearch::invertLists() {
  entryStarts_.assign(store_->targetCount() + 1, 0);
  for (const auto& list : lists_) {
    for (const uint32_t target : list) ++entryStarts_[target + 1];
  }
  std::partial_sum(entryStarts_.begin(), entryStarts_.end(), entryStarts_.begin());
  entries_.resize(entryStarts_.back());
  std::vector<uint32_t> next(entryStarts_.begin(), entryStarts_.end() - 1);
  for (uint32_t query = 0; query < lists_.size(); ++query) {
    uint32_t place = 0;
    for (const uint32_t target : lists_[query]) entries_[next[target]++] = {query, place++};
  }
}

void ListedSearch::cutIntoChunks() {
  uint64_t products = 0;
  cuts_.push_back(0);
  for (uint32_t target = 0; target < store_->targetCount(); ++target) {
    uint64_t tokenCount = 0;
    for (uint32_t a = entryStarts_[target]; a < entryStarts_[target + 1]; ++a) {
      tokenCount += queries_[entries_[a].query].length();
    }
    products += tokenCount * store_->length(target) * store_->dimension();
    if (products < kChunkProducts) continue;
    cuts_.push_back(target + 1);
    products = 0;
  }
  if (products > 0) cuts_.push_back(store_->targetCount());
}

void ListedSearch::run(uint64_t chunk, Workspace& workspace) {
  const uint32_t dimension = store_->dimension();
  std::vector<PackedQuery> asking;
  for (uint32_t target = cuts_[chunk]; target < cuts_[chunk + 1]; ++target) {
    const Entry *entry = entries_.data() + entryStarts_[target], *end = entries_.data() + entryStarts_[target + 1];
    if (entry == end) continue;
    asking.clear();
    size_t closestCount = 0;
    for (const Entry* a = entry; a < end; ++a) {
      asking.push_back(queries_[a->query].view());
      closestCount += roundUp(asking.back().tokens.length, kTokenRound);
    }
    const size_t bytes = (closestCount + asking.size()) * sizeof(int32_t);
    auto* closest = static_cast<int32_t*>(workspace.reserve(Workspace::kClosest, bytes));
    int32_t* rowSums = closest + closestCount;
    std::fill_n(closest, closestCount, INT32_MIN);
    std::fill_n(rowSums, asking.size(), 0);
    compareRows(kernels_, asking, {store_->rows(target), store_->length(target), dimension}, rowsPerCall_, closest,
                rowSums, workspace, cancelled_);
    if (isCancelled()) return;
    for (; entry < end; ++entry) {
      const uint32_t length = queries_[entry->query].length();
      settle(sums[entry->query], entry->place, {closest, length}, *rowSums++, floor_);
      closest += roundUp(length, kTokenRound);
    }
  }
}

}  // namespace gloaming
