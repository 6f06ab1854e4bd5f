#include "engine/coded_search.h"

#include <algorithm>

namespace gloaming {
namespace {

/** Centroids of one packed query. */
constexpr uint32_t kBlockWords = 8'192;
constexpr uint32_t kMaxParents = kCodeCount / kWordChildren;
/** Rows that a chunk of an assignment packs as a query; parents are its targets, kMaxRows at a time. */
constexpr uint32_t kAssignRows = 1'024;
/** Targets of a chunk of look-ups, some 50 µs, which bounds the wait of threads for each other at the end. */
constexpr uint32_t kChunkTargets = 64;

int32_t dot(const int8_t* a, const int8_t* b, uint32_t dimension) {
  int32_t sum = 0;
  for (uint32_t k = 0; k < dimension; ++k) sum += a[k] * b[k];
  return sum;
}

/* Raises `closest` to the best dot products of a packed query with up to kMaxRows rows. */
void meet(const Kernels& kernels, const PackedQuery& query, const int8_t* rows, uint32_t count, int32_t* closest,
          Workspace& workspace) {
  const uint32_t dimension = query.tokens.dimension;
  if (kernels.maxsimPrepare == nullptr) {
    kernels.maxsimRows(query, rows, count, closest);
    return;
  }
  void* prepared = workspace.reserve(Workspace::kPrepared, size_t{count} * dimension * kernels.maxsimPreparedBytes);
  kernels.maxsimPrepare(rows, count, dimension, prepared);
  kernels.maxsimRows(query, prepared, count, closest);
}

}  // namespace

Codes::Codes(const Kernels& kernels, std::vector<uint32_t> starts, uint32_t dimension, const int8_t* words,
             size_t count, const std::string& path)
    : starts_(std::move(starts)), dimension_(dimension),
      codes_(starts_.empty() ? 0 : starts_.back(), sizeof(uint16_t), path, 0, Reading::kAll) {
  checkStarts(starts_, dimension_);
  if (count != size_t{kCodeCount} * dimension) {
    throw ShapeError("there must be " + std::to_string(kCodeCount) + " words");
  }
  for (uint32_t word = 0; word < kCodeCount; word += kBlockWords) {
    const size_t values = size_t{kBlockWords} * dimension;
    blocks_.emplace_back(words + size_t{word} * dimension, values, kBlockWords, dimension);
    blocks_.back().pack(kernels.maxsimPackedBytes, kernels.maxsimPack);
  }
}

TableSearch::TableSearch(const Kernels& kernels, std::shared_ptr<const Codes> codes, std::vector<OwnedQuery> queries,
                         Done done)
    : CodedJob(kernels, std::move(done)), codes_(std::move(codes)), queries_(std::move(queries)) {}

uint64_t TableSearch::prepare() {
  if (queries_.empty() || queries_.size() > kCodedQueries) throw ShapeError("a table is of 1 to 32 queries");
  table.assign(size_t{kCodeCount} * kCodedQueries, 0);
  return codes_->blocks().size();
}

void TableSearch::run(uint64_t block, Workspace& workspace) {
  const PackedQuery words = codes_->blocks()[block].view();
  auto* closest = static_cast<int32_t*>(workspace.reserve(Workspace::kClosest, kBlockWords * sizeof(int32_t)));
  uint8_t* rows = table.data() + block * kBlockWords * kCodedQueries;
  for (size_t q = 0; q < queries_.size(); ++q) {
    const Tokens query = queries_[q].view().tokens;
    std::fill_n(closest, kBlockWords, 0);
    for (uint32_t row = 0; row < query.length; row += kMaxRows) {
      if (isCancelled()) return;
      const uint32_t count = std::min(kMaxRows, query.length - row);
      meet(kernels_, words, query.values + size_t{row} * query.dimension, count, closest, workspace);
    }
    for (uint32_t word = 0; word < kBlockWords; ++word) {
      rows[size_t{word} * kCodedQueries + q] = static_cast<uint8_t>(closest[word] >> kTableShift);
    }
  }
}

CodedSearch::CodedSearch(const Kernels& kernels, std::shared_ptr<const Codes> codes, std::vector<uint8_t> table,
                         uint32_t queryCount, std::optional<std::vector<uint32_t>> eligible, uint8_t floor, Done done)
    : CodedJob(kernels, std::move(done)), codes_(std::move(codes)), table_(std::move(table)), queryCount_(queryCount),
      eligible_(std::move(eligible)), floor_(floor) {}

uint64_t CodedSearch::prepare() {
  codes_->checkFile();
  if (table_.size() != size_t{kCodeCount} * kCodedQueries) throw ShapeError("the table must have 65,536 rows of 32");
  if (queryCount_ == 0 || queryCount_ > kCodedQueries) throw ShapeError("a table is of 1 to 32 queries");
  if (eligible_) checkTargets(*eligible_, true, codes_->targetCount());
  const std::vector<uint32_t> none(itemCount());
  sums.assign(queryCount_, {none, none});
  return (itemCount() + kChunkTargets - 1) / kChunkTargets;
}

void CodedSearch::run(uint64_t chunk, Workspace&) {
  const auto first = static_cast<uint32_t>(chunk * kChunkTargets);
  const uint32_t end = std::min(itemCount(), first + kChunkTargets);
  for (uint32_t item = first; item < end; ++item) {
    if (isCancelled()) return;
    const uint32_t target = eligible_ ? (*eligible_)[item] : item;
    uint32_t closeness[kCodedQueries] = {}, excess[kCodedQueries] = {};
    kernels_.codedRows(table_.data(), codes_->codes(target), codes_->length(target), floor_, closeness, excess);
    for (uint32_t q = 0; q < queryCount_; ++q) {
      sums[q].closeness[item] = closeness[q];
      sums[q].excess[item] = excess[q];
    }
  }
}

AssignJob::AssignJob(const Kernels& kernels, uint32_t dimension, std::vector<int8_t> parents,
                     std::vector<int8_t> children, std::vector<int8_t> rows, Done done)
    : CodedJob(kernels, std::move(done)), dimension_(dimension), parents_(std::move(parents)),
      children_(std::move(children)), rows_(std::move(rows)) {}

uint64_t AssignJob::prepare() {
  checkStarts({0, 1}, dimension_);
  if (parents_.empty() || parents_.size() % dimension_ != 0 || parents_.size() > size_t{kMaxParents} * dimension_) {
    throw ShapeError("there must be 1 to 4,096 whole parents");
  }
  if (!children_.empty() && children_.size() != parents_.size() * kWordChildren) {
    throw ShapeError("each parent must have 16 children, or none");
  }
  if (rows_.empty() || rows_.size() % dimension_ != 0) throw ShapeError("the rows must be whole");
  // Checks the norms of the parents.
  const auto parentCount = static_cast<uint32_t>(parents_.size() / dimension_);
  OwnedQuery(parents_.data(), parents_.size(), parentCount, dimension_);
  codes.assign(rows_.size() / dimension_, 0);
  return (codes.size() + kAssignRows - 1) / kAssignRows;
}

/* Packs the rows as a query and compares them with the parents in groups. The last group that raises a row's best
 * contains its parent. */
void AssignJob::run(uint64_t chunk, Workspace& workspace) {
  const size_t first = chunk * kAssignRows;
  const auto count = static_cast<uint32_t>(std::min<size_t>(kAssignRows, codes.size() - first));
  const int8_t* rows = rows_.data() + first * dimension_;
  OwnedQuery packed(rows, size_t{count} * dimension_, count, dimension_);
  packed.pack(kernels_.maxsimPackedBytes, kernels_.maxsimPack);
  const uint32_t room = roundUp(count, kTokenRound);
  auto* closest = static_cast<int32_t*>(workspace.reserve(Workspace::kClosest, room * sizeof(int32_t)));
  std::fill_n(closest, room, INT32_MIN);
  std::vector<int32_t> before(closest, closest + count);
  std::vector<uint32_t> group(count, 0);
  const auto parentCount = static_cast<uint32_t>(parents_.size() / dimension_);
  for (uint32_t parent = 0; parent < parentCount; parent += kMaxRows) {
    if (isCancelled()) return;
    const uint32_t some = std::min(kMaxRows, parentCount - parent);
    meet(kernels_, packed.view(), parents_.data() + size_t{parent} * dimension_, some, closest, workspace);
    for (uint32_t row = 0; row < count; ++row) {
      if (closest[row] > before[row]) group[row] = parent;
      before[row] = closest[row];
    }
  }
  for (uint32_t row = 0; row < count; ++row) {
    const int8_t* values = rows + size_t{row} * dimension_;
    uint32_t parent = group[row];
    while (dot(values, parents_.data() + size_t{parent} * dimension_, dimension_) < closest[row]) ++parent;
    codes[first + row] = static_cast<uint16_t>(children_.empty() ? parent : closestChild(parent, values));
  }
}

uint32_t AssignJob::closestChild(uint32_t parent, const int8_t* row) const {
  uint32_t best = parent * kWordChildren;
  int32_t closest = INT32_MIN;
  for (uint32_t word = best, end = best + kWordChildren; word < end; ++word) {
    const int32_t found = dot(row, children_.data() + size_t{word} * dimension_, dimension_);
    if (found > closest) {
      closest = found;
      best = word;
    }
  }
  return best;
}

}  // namespace gloaming
