#include "cuda/host/sweep_search.h"

#include <algorithm>
#include <chrono>

namespace gloaming {
namespace cuda {
namespace {

/** Multiply-adds of a launch per multiprocessor: some milliseconds, so that a cancelled search ends soon. */
constexpr uint64_t kLaunchProducts = 30'000'000'000;
/** Chunks per team of a launch: enough to balance the load, few enough that each is long. */
constexpr uint64_t kChunksPerTeam = 12;
/** Places for targets that tie with the last wanted one. If there are more ties, all sums are copied. */
constexpr uint32_t kTieRoom = 4'096;
constexpr uint32_t kSelectThreads = kDigits;
/** Bytes of the sums of a launch: a quarter of what a fleet reserves for searches. */
constexpr uint64_t kSumsBytes = uint64_t{128} << 20;

uint32_t blocksFor(uint32_t items) { return (items + kSelectThreads - 1) / kSelectThreads; }

}  // namespace

SweepSearch::SweepSearch(const ReleasePart& part, const Store& store, std::vector<Tokens> queries,
                         std::optional<std::vector<uint32_t>> eligible, const std::atomic<bool>& cancelled,
                         std::optional<int32_t> floor)
    : part_(part), gpu_(*part.gpu), variant_(part.gpu->facts().variant), dimension_(part.dimension),
      queries_(std::move(queries)), eligible_(std::move(eligible)), cancelled_(cancelled), floor_(floor) {
  const uint32_t count = eligible_ ? static_cast<uint32_t>(eligible_->size()) : part.endTarget - part.firstTarget;
  lengths_.reserve(count);
  for (uint32_t item = 0; item < count; ++item) {
    lengths_.push_back(store.length(part.firstTarget + (eligible_ ? (*eligible_)[item] : item)));
    longest_ = std::max(longest_, lengths_.back());
  }
}

std::vector<SweepSearch::Round> SweepSearch::planRounds() const {
  const uint32_t capacity = queryTilesThatFit(variant_, dimension_, gpu_.facts().sharedBytes);
  if (capacity == 0) throw CudaError(gpu_.facts().name + " has too little shared memory");
  std::vector<uint32_t> lengths;
  for (const Tokens& query : queries_) lengths.push_back(query.length);
  // The sums of many small proteins need more memory, so fewer queries share a launch.
  const uint64_t fitting = kSumsBytes / (uint64_t{itemCount()} * (floor_ ? 3 : 2) * sizeof(int32_t));
  const auto mostQueries = static_cast<uint32_t>(std::clamp<uint64_t>(fitting, 1, kMaxLaunchQueries));
  std::vector<Round> rounds;
  for (Batch& batch : planBatches(lengths, shapeOf(variant_, dimension_).queryRows(), capacity, mostQueries)) {
    if (batch.isFirstPanel) rounds.push_back({});
    rounds.back().batches.push_back(std::move(batch));
  }
  return rounds;
}

/* Calls  take(round, memory) after each round, while its sums are in GPU memory
 *
 * Other searches may use the GPU between two rounds, so that a long low-priority search delays them by at most a round.
 * All work of a round has ended when it releases the GPU. */
template <class Take>
void SweepSearch::runRounds(Take take) {
  if (itemCount() == 0) return;
  if (eligible_) eligibleOnGpu_ = scratch(size_t{itemCount()} * 4);
  bool isFirst = true;
  for (const Round& round : planRounds()) {
    const std::lock_guard<FairMutex> lock(gpu_.mutex);
    if (isCancelled()) return;
    gpu_.enter();
    if (eligible_ && isFirst) gpu_.copyIn(eligibleOnGpu_, 0, eligible_->data(), eligible_->size() * 4);
    isFirst = false;
    const RoundMemory memory = runRound(round);
    if (isCancelled()) return;
    take(round, memory);
  }
}

SweepSearch::RoundMemory SweepSearch::runRound(const Round& round) {
  const size_t sumBytes = round.queries().size() * itemCount() * sizeof(int32_t);
  RoundMemory memory{scratch(sumBytes), scratch(sumBytes), floor_ ? scratch(sumBytes) : GpuMemory{}};
  const Shape shape = shapeOf(variant_, dimension_);
  std::vector<GpuMemory> packed;
  uint64_t tiles = 0;
  for (const Batch& batch : round.batches) {
    std::vector<uint8_t> bytes(size_t{batch.tileCount()} * shape.queryRows() * dimension_);
    for (size_t p = 0; p < batch.parts.size(); ++p) {
      packQuery(variant_, queries_[batch.queries[p]], batch.firstRow, batch.parts[p].rows,
                bytes.data() + size_t{batch.parts[p].firstTile} * shape.queryRows() * dimension_);
    }
    tiles += batch.tileCount();
    packed.push_back(scratch(bytes.size()));
    gpu_.copyIn(packed.back(), 0, bytes.data(), bytes.size());
    gpu_.wait();
  }
  const uint64_t groupProducts = tiles * shape.queryRows() * dimension_ * kGroupRows;
  const uint64_t sliceGroups = std::max<uint64_t>(gpu_.facts().multiprocessors * kLaunchProducts / groupProducts, 1);
  uint64_t groups = 0;
  for (const uint32_t length : lengths_) groups += groupsOf(length);
  const uint64_t chunks = uint64_t{gpu_.facts().multiprocessors} * shape.teams * kChunksPerTeam;
  const auto chunkGroups = static_cast<uint32_t>(std::min(groups, sliceGroups) / chunks + 1);
  for (const Slice& slice : planSlices(lengths_, sliceGroups, chunkGroups)) {
    const GpuMemory chunkList = scratch(slice.chunks.size() * sizeof(Chunk)), taken = scratch(4);
    const GpuMemory rowMaxima = scratch(round.batches.size() > 1 ? size_t{slice.groupCount} * 16 : 0);
    gpu_.copyIn(chunkList, 0, slice.chunks.data(), slice.chunks.size() * sizeof(Chunk));
    for (size_t b = 0; b < round.batches.size(); ++b) {
      launch(round.batches[b], slice, {packed[b], chunkList, taken, rowMaxima}, memory);
      if (isCancelled()) return memory;
    }
  }
  return memory;
}

void SweepSearch::launch(const Batch& batch, const Slice& slice, const LaunchMemory& own, const RoundMemory& memory) {
  const Shape shape = shapeOf(variant_, dimension_);
  SweepTask task{};
  task.tokens = part_.tokens.as<const uint8_t>();
  task.targets = {part_.firstGroups.as<const uint32_t>(), part_.lengths.as<const uint32_t>(),
                  eligible_ ? eligibleOnGpu_.as<const uint32_t>() : nullptr};
  task.chunks = own.chunks.as<const Chunk>();
  task.chunkCount = static_cast<uint32_t>(slice.chunks.size());
  task.takenChunks = own.taken.as<uint32_t>();
  task.query = own.query.as<const uint8_t>();
  task.queryTiles = batch.tileCount();
  task.queryBytes = batch.tileCount() * shape.queryRows() * dimension_;
  task.queryCount = static_cast<uint32_t>(batch.parts.size());
  std::copy(batch.parts.begin(), batch.parts.end(), task.parts);
  task.queryToTarget = memory.queryToTarget.as<int32_t>();
  task.targetToQuery = memory.targetToQuery.as<int32_t>();
  task.queryExcess = memory.queryExcess.as<int32_t>();
  task.floor = static_cast<uint32_t>(floor_.value_or(0));
  task.itemCount = itemCount();
  task.rowMaxima = batch.isPanel() ? own.rowMaxima.as<uint32_t>() : nullptr;
  task.isFirstPanel = batch.isFirstPanel;
  task.isLastPanel = batch.isLastPanel;
  const char* kernel = variant_ == Variant::kHopper ? "maxsim_hopper_" : "maxsim_portable_";
  const uint32_t blocks = std::min(gpu_.facts().multiprocessors, (task.chunkCount + shape.teams - 1) / shape.teams);
  gpu_.fill(own.taken, 0, 1);
  const auto start = std::chrono::steady_clock::now();
  gpu_.launch(kernel + std::to_string(dimension_), blocks, shape.threads(),
              planShared(variant_, dimension_, task.queryTiles).bytes, {&task});
  gpu_.wait();
  sweepSeconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void SweepSearch::sums(const std::vector<int32_t*>& queryToTarget, const std::vector<int32_t*>& targetToQuery,
                       const std::vector<int32_t*>& queryExcess) {
  runRounds([&](const Round& round, const RoundMemory& memory) {
    const size_t bytes = size_t{itemCount()} * sizeof(int32_t);
    for (size_t p = 0; p < round.queries().size(); ++p) {
      const uint32_t query = round.queries()[p];
      gpu_.copyOut(queryToTarget[query], memory.queryToTarget.address() + p * bytes, bytes);
      gpu_.copyOut(targetToQuery[query], memory.targetToQuery.address() + p * bytes, bytes);
      if (floor_) gpu_.copyOut(queryExcess[query], memory.queryExcess.address() + p * bytes, bytes);
    }
    gpu_.wait();
  });
}

std::vector<Best> SweepSearch::best(uint32_t wanted) {
  std::vector<Best> all(queries_.size());
  runRounds([&](const Round& round, const RoundMemory& memory) {
    const size_t bytes = size_t{itemCount()} * sizeof(int32_t);
    for (size_t p = 0; p < round.queries().size(); ++p) {
      const uint32_t query = round.queries()[p];
      all[query] =
          bestOf(query, memory.queryToTarget.address() + p * bytes, memory.targetToQuery.address() + p * bytes, wanted);
    }
  });
  return all;
}

Best SweepSearch::bestOf(uint32_t query, uint64_t queryToTarget, uint64_t targetToQuery, uint32_t wanted) {
  const uint32_t length = queries_[query].length;
  if (wanted >= itemCount() || !hasRankKeys(length, longest_)) {
    return bestOnHost(query, queryToTarget, targetToQuery, wanted);
  }
  const uint32_t room = wanted + kTieRoom;
  const GpuMemory keys = scratch(size_t{itemCount()} * 8), histogram = scratch(kDigits * 4);
  const GpuMemory state = scratch(sizeof(SelectState)), list = scratch(room * sizeof(Found)), count = scratch(4);
  // Members in lines that are filled.
  // clang-format off
  SelectTask task{reinterpret_cast<const int32_t*>(queryToTarget), reinterpret_cast<const int32_t*>(targetToQuery),
                  part_.lengths.as<const uint32_t>(), eligible_ ? eligibleOnGpu_.as<const uint32_t>() : nullptr,
                  itemCount(), length, rankShift(longest_), keys.as<uint64_t>(), histogram.as<uint32_t>(),
                  state.as<SelectState>(), list.as<Found>(), count.as<uint32_t>(), room};
  // clang-format on
  const SelectState first{0, wanted};
  gpu_.fill(histogram, 0, kDigits);
  gpu_.fill(count, 0, 1);
  gpu_.copyIn(state, 0, &first, sizeof first);
  const uint32_t blocks = blocksFor(itemCount());
  gpu_.launch("select_keys", blocks, kSelectThreads, 0, {&task});
  for (uint32_t digit = 0; digit < kDigitCount; ++digit) {
    gpu_.launch("select_count", std::min(blocks, 4 * gpu_.facts().multiprocessors), kSelectThreads, 0, {&task, &digit});
    gpu_.launch("select_pick", 1, kSelectThreads, 0, {&task, &digit});
  }
  gpu_.launch("select_collect", blocks, kSelectThreads, 0, {&task});
  uint32_t foundCount = 0;
  gpu_.copyOut(&foundCount, count.address(), sizeof foundCount);
  gpu_.wait();
  if (foundCount > room) return bestOnHost(query, queryToTarget, targetToQuery, wanted);
  Best found(foundCount);
  gpu_.copyOut(found.data(), list.address(), foundCount * sizeof(Found));
  gpu_.wait();
  return keepBest(std::move(found), lengthOf(), length, wanted);
}

Best SweepSearch::bestOnHost(uint32_t query, uint64_t queryToTarget, uint64_t targetToQuery, uint32_t wanted) {
  std::vector<int32_t> sums[2] = {std::vector<int32_t>(itemCount()), std::vector<int32_t>(itemCount())};
  gpu_.copyOut(sums[0].data(), queryToTarget, size_t{itemCount()} * sizeof(int32_t));
  gpu_.copyOut(sums[1].data(), targetToQuery, size_t{itemCount()} * sizeof(int32_t));
  gpu_.wait();
  std::vector<Found> found(itemCount());
  for (uint32_t item = 0; item < itemCount(); ++item) found[item] = {item, sums[0][item], sums[1][item]};
  return keepBest(std::move(found), lengthOf(), queries_[query].length, wanted);
}

}  // namespace cuda
}  // namespace gloaming
