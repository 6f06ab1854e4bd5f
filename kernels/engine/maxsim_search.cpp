#include <algorithm>
#include <numeric>

#include "engine/search.h"

namespace gloaming {
namespace {

/** Multiply-adds of one piece of a long target. Pieces are larger than chunks, because their results must be merged. */
constexpr uint64_t kPieceProducts = 100'000'000;
/** Least rows of a piece. Without it many queries would cut every target, and be read again for every few rows. */
constexpr uint32_t kPieceMinRows = 512;
/** Multiply-adds between two checks of the cancel flag, for one query. */
constexpr uint64_t kCallProducts = 20'000'000;

}  // namespace

uint32_t rowsPerCall(uint32_t longestQuery, uint32_t dimension) {
  const uint64_t rowProducts = uint64_t{longestQuery} * dimension;
  return static_cast<uint32_t>(std::clamp<uint64_t>(kCallProducts / rowProducts / 8 * 8, 8, kMaxRows));
}

/* Prepares kPreparedRows rows at a time, once for all queries. */
void compareRows(const Kernels& kernels, const std::vector<PackedQuery>& queries, const Tokens& rows,
                 uint32_t rowsPerCall, int32_t* closest, int32_t* rowSums, Workspace& workspace,
                 const std::atomic<bool>& cancelled) {
  const size_t storedBytes = rows.dimension, preparedBytes = storedBytes * kernels.maxsimPreparedBytes;
  void* prepared = workspace.reserve(Workspace::kPrepared, kPreparedRows * preparedBytes);
  for (uint32_t row = 0; row < rows.length; row += kPreparedRows) {
    const uint32_t count = std::min(kPreparedRows, rows.length - row);
    const int8_t* stored = rows.values + row * storedBytes;
    if (preparedBytes > 0) kernels.maxsimPrepare(stored, count, rows.dimension, prepared);
    // Prefetches the rows that usually follow.
    const int8_t* next = stored + count * storedBytes;
    for (size_t byte = 0; byte < count * storedBytes; byte += 64) __builtin_prefetch(next + byte);
    const int8_t* ready = preparedBytes > 0 ? static_cast<const int8_t*>(prepared) : stored;
    const size_t readyBytes = preparedBytes > 0 ? preparedBytes : storedBytes;
    int32_t* own = closest;
    for (size_t q = 0; q < queries.size(); ++q) {
      const PackedQuery& query = queries[q];
      for (uint32_t at = 0; at < count; at += rowsPerCall) {
        if (cancelled.load(std::memory_order_relaxed)) return;
        rowSums[q] += kernels.maxsimRows(query, ready + at * readyBytes, std::min(rowsPerCall, count - at), own);
      }
      own += roundUp(query.tokens.length, kTokenRound);
    }
  }
}

MaxSimSearch::MaxSimSearch(const Kernels& kernels, std::shared_ptr<const Store> store, std::vector<OwnedQuery> queries,
                           std::optional<std::vector<uint32_t>> eligible, Done done, std::optional<int32_t> floor)
    : SumsSearch(kernels, std::move(store), std::move(done)), queries_(std::move(queries)),
      eligible_(std::move(eligible)), floor_(floor) {}

uint32_t MaxSimSearch::itemCount() const {
  return eligible_ ? static_cast<uint32_t>(eligible_->size()) : store_->targetCount();
}

/* Cuts the list into chunks of about equal numbers of residues; only a target of more than two pieces is cut inside. */
uint64_t MaxSimSearch::prepare() {
  store_->checkFiles();
  if (eligible_) checkTargets(*eligible_, true);
  uint64_t tokenCount = 0;
  uint32_t longest = 1;
  for (OwnedQuery& query : queries_) {
    query.pack(kernels_.maxsimPackedBytes, kernels_.maxsimPack);
    packed_.push_back(query.view());
    tokenCount += query.length();
    longest = std::max(longest, query.length());
    closestCount_ += roundUp(query.length(), kTokenRound);
  }
  const std::vector<int32_t> none(itemCount());
  sums.assign(queries_.size(), {none, none, floor_ ? none : std::vector<int32_t>{}});
  if (queries_.empty() || itemCount() == 0) return 0;

  rowsPerCall_ = rowsPerCall(longest, store_->dimension());
  const auto rowsOf = [tokenProducts = tokenCount * store_->dimension()](uint64_t products, uint32_t least) {
    const uint64_t rows = std::clamp<uint64_t>(products / tokenProducts, least, 1 << 20);
    return static_cast<uint32_t>(rows / kMaxRows * kMaxRows);
  };
  const uint32_t chunkRows = rowsOf(kChunkProducts, kMaxRows), pieceRows = rowsOf(kPieceProducts, kPieceMinRows);
  uint64_t rows = 0;
  cuts_.push_back({0, 0});
  for (uint32_t item = 0; item < itemCount(); ++item) {
    if (rows >= chunkRows) {
      cuts_.push_back({item, 0});
      rows = 0;
    }
    uint32_t left = store_->length(targetOf(item)), row = 0;
    if (left > 2 * pieceRows) {
      for (; left > pieceRows; left -= pieceRows) {
        row += pieceRows;
        cuts_.push_back({item, row});
      }
      rows = 0;
    }
    rows += left;
  }
  cuts_.push_back({itemCount(), 0});
  return cuts_.size() - 1;
}

void MaxSimSearch::run(uint64_t chunk, Workspace& workspace) {
  const Cut from = cuts_[chunk], to = cuts_[chunk + 1];
  // A short list reads few rows of the file, so that read-ahead would cost more than it saves.
  if (itemCount() > store_->targetCount() / 2) store_->approach(targetOf(from.item), reached_);
  auto* closest = static_cast<int32_t*>(
      workspace.reserve(Workspace::kClosest, (closestCount_ + queries_.size()) * sizeof(int32_t)));
  int32_t* rowSums = closest + closestCount_;
  for (uint32_t item = from.item; item < to.item || (item == to.item && to.row > 0); ++item) {
    const uint32_t length = store_->length(targetOf(item));
    const uint32_t firstRow = item == from.item ? from.row : 0, endRow = item == to.item ? to.row : length;
    std::fill_n(closest, closestCount_, INT32_MIN);
    std::fill_n(rowSums, queries_.size(), 0);
    const int8_t* rows = store_->rows(targetOf(item)) + size_t{firstRow} * store_->dimension();
    compareRows(kernels_, packed_, {rows, endRow - firstRow, store_->dimension()}, rowsPerCall_, closest, rowSums,
                workspace, cancelled_);
    if (isCancelled()) return;
    if (endRow - firstRow == length) settleAll(item, closest, rowSums);
    else share(item, endRow - firstRow, closest, rowSums);
  }
}

/* Merges a chunk's part of a target. The chunk that completes the rows writes the target's sums. */
void MaxSimSearch::share(uint32_t item, uint32_t rowCount, const int32_t* closest, const int32_t* rowSums) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Shared& shared = shared_[item];
  if (shared.closest.empty()) {
    shared.closest.assign(closest, closest + closestCount_);
    shared.sums.assign(rowSums, rowSums + queries_.size());
  } else {
    for (size_t k = 0; k < closestCount_; ++k) shared.closest[k] = std::max(shared.closest[k], closest[k]);
    for (size_t q = 0; q < queries_.size(); ++q) shared.sums[q] += rowSums[q];
  }
  shared.rowsDone += rowCount;
  if (shared.rowsDone < store_->length(targetOf(item))) return;
  settleAll(item, shared.closest.data(), shared.sums.data());
  shared_.erase(item);
}

void MaxSimSearch::settleAll(uint32_t item, const int32_t* closest, const int32_t* rowSums) {
  for (size_t q = 0; q < queries_.size(); ++q) {
    settle(sums[q], item, {closest, queries_[q].length()}, rowSums[q], floor_);
    closest += roundUp(queries_[q].length(), kTokenRound);
  }
}

void SumsSearch::settle(Sums& sums, uint32_t item, Closest closest, int32_t rowSum, std::optional<int32_t> floor) {
  const int32_t* end = closest.values + closest.length;
  sums.queryToTarget[item] = std::accumulate(closest.values, end, 0);
  sums.targetToQuery[item] = rowSum;
  if (!floor) return;
  const auto excess = [floor = *floor](int32_t sum, int32_t best) { return sum + std::max(0, best - floor); };
  sums.queryExcess[item] = std::accumulate(closest.values, end, 0, excess);
}

}  // namespace gloaming
