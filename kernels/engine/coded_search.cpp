#include "engine/coded_search.h"

#include <algorithm>
#include <cstring>

namespace gloaming {
namespace {

/** Centroids of one packed query: they stay in the first-level cache while the rows of a query are compared. */
constexpr uint32_t kBlockWords = 128;
/** Blocks of a chunk of a table, whose entries stay in the second-level cache. */
constexpr uint32_t kChunkBlocks = 16;
constexpr uint32_t kMaxParents = kCodeCount / kWordChildren;
/** Rows that a chunk of an assignment packs as a query; parents are its targets, kMaxRows at a time. */
constexpr uint32_t kAssignRows = 1'024;
/** Targets of a chunk of look-ups, some 50 µs, which bounds the wait of threads for each other at the end. */
constexpr uint32_t kChunkTargets = 64;
/** Values of a table's dot products. */
constexpr uint32_t kValues = 256;
constexpr uint32_t kLeastShift = 4, kNarrowLength = 512;

int32_t dot(const int8_t* a, const int8_t* b, uint32_t dimension) {
  int32_t sum = 0;
  for (uint32_t k = 0; k < dimension; ++k) sum += a[k] * b[k];
  return sum;
}

/** Rows that maxsimRows takes. */
struct ReadyRows {
  const int8_t* values;
  size_t rowBytes;
};

/* Prepares the rows of a protein, or returns those that are stored. */
ReadyRows makeReady(const Kernels& kernels, const Tokens& rows, Workspace& workspace) {
  if (kernels.maxsimPrepare == nullptr) return {rows.values, rows.dimension};
  const size_t rowBytes = size_t{rows.dimension} * kernels.maxsimPreparedBytes;
  auto* prepared = static_cast<int8_t*>(workspace.reserve(Workspace::kPrepared, rows.length * rowBytes));
  for (uint32_t row = 0; row < rows.length; row += kPreparedRows) {
    const uint32_t count = std::min(kPreparedRows, rows.length - row);
    kernels.maxsimPrepare(rows.values + size_t{row} * rows.dimension, count, rows.dimension, prepared + row * rowBytes);
  }
  return {prepared, rowBytes};
}

/* Notes the group where it has raised the best dot product of a centroid. Dot products from 0 on fit in 16 bits, and
 * compilers vectorize the loop. */
void noteGroup(int16_t group, const int32_t* closest, int16_t* __restrict before, int16_t* __restrict groups) {
  for (uint32_t word = 0; word < kBlockWords; ++word) {
    const auto value = static_cast<int16_t>(closest[word]);
    const auto isRaised = static_cast<int16_t>(-static_cast<int16_t>(value > before[word]));
    groups[word] = static_cast<int16_t>((group & isRaised) | (groups[word] & ~isRaised));
    before[word] = value;
  }
}

/* Weight of a vote that `rows` of the counted rows would have at least as well. */
uint32_t weightOf(uint64_t rows, uint64_t counted) {
  uint32_t weight = 0;
  while (weight < kMaxWeight && (kVoteShare * std::max<uint64_t>(rows, 1) << (weight + 1)) <= counted) ++weight;
  return weight;
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

const std::vector<uint32_t>& Codes::counts() const {
  std::call_once(isCounted_, [this] {
    counts_.assign(kCodeCount, 0);
    const uint32_t rows = starts_.back(), step = (rows + kCountedRows - 1) / kCountedRows;
    for (uint64_t row = 0; row < rows; row += step) {
      ++counts_[*reinterpret_cast<const uint16_t*>(codes_.row(static_cast<uint32_t>(row)))];
    }
  });
  return counts_;
}

TableSearch::TableSearch(const Kernels& kernels, std::shared_ptr<const Codes> codes, std::vector<OwnedQuery> queries,
                         Done done)
    : CodedJob(kernels, std::move(done)), codes_(std::move(codes)), queries_(std::move(queries)) {}

uint64_t TableSearch::prepare() {
  if (queries_.empty() || queries_.size() > kCodedQueries) throw ShapeError("a table is of 1 to 32 queries");
  table.assign(kCodeCount, TableRow{});
  return codes_->blocks().size() / kChunkBlocks;
}

void TableSearch::run(uint64_t chunk, Workspace& workspace) {
  for (size_t q = 0; q < queries_.size(); ++q) fill(chunk, q, workspace);
}

void TableSearch::fill(uint64_t chunk, size_t query, Workspace& workspace) {
  const Tokens tokens = queries_[query].view().tokens;
  const ReadyRows ready = makeReady(kernels_, tokens, workspace);
  const auto startOf = [&tokens](uint64_t group) { return static_cast<uint32_t>(tokens.length * group / kRowGroups); };
  alignas(64) int32_t closest[kBlockWords];
  alignas(64) int16_t before[kBlockWords], groups[kBlockWords];
  const uint64_t first = chunk * kChunkBlocks;
  for (uint64_t block = first; block < first + kChunkBlocks; ++block) {
    const PackedQuery words = codes_->blocks()[block].view();
    std::fill_n(closest, kBlockWords, 0);
    std::fill_n(before, kBlockWords, int16_t{0});
    std::fill_n(groups, kBlockWords, int16_t{0});
    for (uint32_t group = 0; group < kRowGroups; ++group) {
      const uint32_t end = startOf(group + 1);
      for (uint32_t row = startOf(group); row < end; row += kMaxRows) {
        if (isCancelled()) return;
        kernels_.maxsimRows(words, ready.values + row * ready.rowBytes, std::min(kMaxRows, end - row), closest);
      }
      noteGroup(static_cast<int16_t>(group), closest, before, groups);
    }
    TableRow* rows = table.data() + block * kBlockWords;
    for (uint32_t word = 0; word < kBlockWords; ++word) {
      rows[word].entries[query] = static_cast<uint16_t>(closest[word] >> kTableShift << 8 | groups[word]);
    }
  }
}

void weighVotes(std::vector<TableRow>& table, uint32_t queryCount, const std::vector<uint32_t>& counts) {
  constexpr size_t kPlaces = size_t{kRowGroups} * kValues;
  const auto placeOf = [](size_t query, uint16_t entry) {
    return query * kPlaces + (entry & (kRowGroups - 1)) * kValues + (entry >> 8);
  };
  uint64_t counted = 0;
  std::vector<uint32_t> rows(queryCount * kPlaces, 0);
  for (uint32_t code = 0; code < kCodeCount; ++code) {
    counted += counts[code];
    for (uint32_t q = 0; q < queryCount; ++q) rows[placeOf(q, table[code].entries[q])] += counts[code];
  }
  std::vector<uint16_t> weights(rows.size());
  uint64_t sum = 0;
  for (size_t place = rows.size(); place-- > 0;) {
    sum += rows[place];
    weights[place] = static_cast<uint16_t>(weightOf(sum, counted) << 4);
    // The next place is of another group.
    if (place % kValues == 0) sum = 0;
  }
  for (TableRow& row : table) {
    for (uint32_t q = 0; q < queryCount; ++q) {
      row.entries[q] = static_cast<uint16_t>(row.entries[q] | weights[placeOf(q, row.entries[q])]);
    }
  }
}

Diagonals diagonalsOf(const std::vector<uint32_t>& lengths) {
  Diagonals diagonals{};
  for (uint32_t q = 0; q < kCodedQueries; ++q) {
    const uint32_t length = q < lengths.size() ? lengths[q] : 1;
    uint32_t& shift = diagonals.shifts[q] = kLeastShift;
    while (kNarrowLength << (shift - kLeastShift) < length) ++shift;
    for (uint32_t group = 0; group < kRowGroups; ++group) {
      diagonals.origins[q][group] = length - (2 * group + 1) * length / (2 * kRowGroups);
    }
  }
  return diagonals;
}

CodedSearch::CodedSearch(const Kernels& kernels, std::shared_ptr<const Codes> codes, std::vector<TableRow> table,
                         std::vector<uint32_t> lengths, std::optional<std::vector<uint32_t>> eligible, uint8_t floor,
                         Done done)
    : CodedJob(kernels, std::move(done)), codes_(std::move(codes)), table_(std::move(table)),
      lengths_(std::move(lengths)), eligible_(std::move(eligible)), floor_(floor) {}

uint64_t CodedSearch::prepare() {
  codes_->checkFile();
  if (table_.size() != kCodeCount) throw ShapeError("the table must have 65,536 rows of 32");
  if (lengths_.empty() || lengths_.size() > kCodedQueries) throw ShapeError("a table is of 1 to 32 queries");
  for (const uint32_t length : lengths_) {
    if (length == 0 || length > kMaxLength) throw ShapeError("the length of a query must be 1 to 65,535");
  }
  if (eligible_) checkTargets(*eligible_, true, codes_->targetCount());
  diagonals_ = diagonalsOf(lengths_);
  weighVotes(table_, static_cast<uint32_t>(lengths_.size()), codes_->counts());
  const std::vector<uint32_t> none(itemCount());
  sums.assign(lengths_.size(), {none, none});
  return (itemCount() + kChunkTargets - 1) / kChunkTargets;
}

/* Halves of bands that the diagonals of a target of so many rows touch. */
uint32_t CodedSearch::halfCount(uint32_t rows) const {
  uint32_t most = 1;
  for (size_t q = 0; q < lengths_.size(); ++q)
    most = std::max(most, ((rows + lengths_[q]) >> diagonals_.shifts[q]) + 1);
  return most;
}

void CodedSearch::run(uint64_t chunk, Workspace& workspace) {
  const auto first = static_cast<uint32_t>(chunk * kChunkTargets);
  const uint32_t end = std::min(itemCount(), first + kChunkTargets);
  for (uint32_t item = first; item < end; ++item) {
    if (isCancelled()) return;
    const uint32_t target = eligible_ ? (*eligible_)[item] : item;
    const uint32_t length = codes_->length(target), halves = halfCount(length);
    const size_t bytes = size_t{halves} * kCodedQueries * sizeof(uint16_t);
    auto* votesOfHalves = static_cast<uint16_t*>(workspace.reserve(Workspace::kHalves, bytes));
    std::memset(votesOfHalves, 0, bytes);
    uint32_t excess[kCodedQueries], votes[kCodedQueries];
    kernels_.codedRows(table_.data(), codes_->codes(target), length, floor_, diagonals_, votesOfHalves, halves, excess,
                       votes);
    for (size_t q = 0; q < lengths_.size(); ++q) {
      sums[q].excess[item] = excess[q];
      sums[q].votes[item] = votes[q];
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
    const Tokens upper{parents_.data() + size_t{parent} * dimension_, some, dimension_};
    kernels_.maxsimRows(packed.view(), makeReady(kernels_, upper, workspace).values, some, closest);
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
