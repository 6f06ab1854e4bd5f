#include "cuda/host/sweep_search.h"

#include <algorithm>
#include <chrono>

namespace gloaming {
namespace cuda {
namespace {

/** Multiply-adds of a launch per multiprocessor: some milliseconds, so that a cancelled search ends soon. */
constexpr uint64_t kLaunchProducts = 30'000'000'000;
/** Chunks per warp of a launch: enough to balance the load, few enough that each is long. */
constexpr uint64_t kChunksPerWarp = 16;
/** Places for targets that tie with the last wanted one. If there are more ties, all sums are copied. */
constexpr uint32_t kTieRoom = 4'096;
constexpr uint32_t kSelectThreads = kDigits;

uint32_t blocksFor(uint32_t items) { return (items + kSelectThreads - 1) / kSelectThreads; }

}  // namespace

SweepSearch::SweepSearch(const ReleasePart& part, const Store& store, std::vector<Tokens> queries,
                         std::optional<std::vector<uint32_t>> eligible, const std::atomic<bool>& cancelled,
                         std::optional<int32_t> floor)
    : part_(part), gpu_(*part.gpu), variant_(part.gpu->facts().variant), dimension_(part.dimension),
      shape_(shapeOf(variant_, dimension_)), queries_(std::move(queries)), eligible_(std::move(eligible)),
      cancelled_(cancelled), floor_(floor) {
  const uint32_t count = eligible_ ? static_cast<uint32_t>(eligible_->size()) : part.endTarget - part.firstTarget;
  lengths_.reserve(count);
  for (uint32_t item = 0; item < count; ++item) {
    lengths_.push_back(store.length(part.firstTarget + (eligible_ ? (*eligible_)[item] : item)));
    longest_ = std::max(longest_, lengths_.back());
    groups_ += groupsOf(lengths_.back());
  }
}

/* Calls  take(query, memory) after each query, while its sums are in GPU memory
 *
 * Other searches may use the GPU between two queries, so that a long low-priority search delays them by at most one.
 * All work of a query has ended when it releases the GPU. */
template <class Take>
void SweepSearch::runQueries(Take take) {
  if (itemCount() == 0) return;
  if (eligible_) eligibleOnGpu_ = scratch(size_t{itemCount()} * 4);
  const auto slices = slicesOfTargets();
  for (uint32_t query = 0; query < queries_.size(); ++query) {
    const std::lock_guard<FairMutex> lock(gpu_.mutex);
    if (isCancelled()) return;
    gpu_.enter();
    if (eligible_ && query == 0) gpu_.copyIn(eligibleOnGpu_, 0, eligible_->data(), eligible_->size() * 4);
    const SumsMemory memory = runQuery(queries_[query], *slices);
    if (isCancelled()) return;
    take(query, memory);
  }
}

SweepSearch::SumsMemory SweepSearch::runQuery(const Tokens& query, const std::vector<Slice>& slices) {
  const size_t sumBytes = itemCount() * sizeof(int32_t);
  SumsMemory memory{scratch(sumBytes), scratch(sumBytes), floor_ ? scratch(sumBytes) : GpuMemory{}};
  const std::vector<Panel> panels = planPanels(query.length, shape_.tileRows(), shape_.panelTiles);
  std::vector<GpuMemory> packed;
  for (const Panel& panel : panels) {
    std::vector<uint8_t> bytes(panelBytes(variant_, dimension_, tilesOf(variant_, dimension_, panel.rows)));
    packQuery(variant_, query, panel.firstRow, panel.rows, bytes.data());
    packed.push_back(scratch(bytes.size()));
    gpu_.copyIn(packed.back(), 0, bytes.data(), bytes.size());
    gpu_.wait();
  }
  for (const Slice& slice : slices) {
    const GpuMemory chunkList = scratch(slice.chunks.size() * sizeof(Chunk)), taken = scratch(4);
    const GpuMemory rowMaxima = scratch(panels.size() > 1 ? size_t{slice.groupCount} * kGroupRows * 2 : 0);
    gpu_.copyIn(chunkList, 0, slice.chunks.data(), slice.chunks.size() * sizeof(Chunk));
    for (size_t p = 0; p < panels.size(); ++p) {
      SweepTask task{};
      task.query = packed[p].as<const uint8_t>();
      task.queryRows = panels[p].rows;
      task.queryTiles = tilesOf(variant_, dimension_, panels[p].rows);
      task.chunks = chunkList.as<const Chunk>();
      task.chunkCount = static_cast<uint32_t>(slice.chunks.size());
      task.takenChunks = taken.as<uint32_t>();
      task.rowMaxima = panels.size() > 1 ? rowMaxima.as<int16_t>() : nullptr;
      task.isFirstPanel = p == 0;
      task.isLastPanel = p + 1 == panels.size();
      gpu_.fill(taken, 0, 1);
      launch(task, memory);
      if (isCancelled()) return memory;
    }
  }
  return memory;
}

/* Slices of the listed targets, each a launch of some milliseconds for the longest query. */
std::shared_ptr<const std::vector<Slice>> SweepSearch::slicesOfTargets() const {
  uint32_t queryLength = 1;
  for (const Tokens& query : queries_) queryLength = std::max(queryLength, query.length);
  const uint64_t multiprocessors = gpu_.facts().multiprocessors;
  const uint64_t groupProducts = uint64_t{queryLength} * dimension_ * kGroupRows;
  // At most all groups, so that queries whose slice is the whole list share a plan.
  const uint64_t most = std::min(groups_, multiprocessors * kLaunchProducts / groupProducts);
  const uint64_t sliceGroups = std::max<uint64_t>(most, 1), chunks = multiprocessors * shape_.warps * kChunksPerWarp;
  const auto chunkGroups = static_cast<uint32_t>(sliceGroups / chunks + 1);
  if (!eligible_) return part_.plan->of(lengths_, sliceGroups, chunkGroups);
  return std::make_shared<const std::vector<Slice>>(planSlices(lengths_, sliceGroups, chunkGroups));
}

void SweepSearch::launch(SweepTask& task, const SumsMemory& memory) {
  task.tokens = part_.tokens.as<const uint8_t>();
  task.targets = {part_.firstGroups.as<const uint32_t>(), part_.lengths.as<const uint32_t>(),
                  eligible_ ? eligibleOnGpu_.as<const uint32_t>() : nullptr};
  task.queryToTarget = memory.queryToTarget.as<int32_t>();
  task.targetToQuery = memory.targetToQuery.as<int32_t>();
  task.queryExcess = memory.queryExcess.as<int32_t>();
  task.floor = static_cast<uint32_t>(floor_.value_or(0));
  const char* kernel = variant_ == Variant::kHopper ? "maxsim_hopper_" : "maxsim_portable_";
  const uint32_t blocks = std::min(gpu_.facts().multiprocessors, (task.chunkCount + shape_.warps - 1) / shape_.warps);
  const auto start = std::chrono::steady_clock::now();
  gpu_.launch(kernel + std::to_string(dimension_), blocks, shape_.threads(),
              panelBytes(variant_, dimension_, task.queryTiles), {&task});
  gpu_.wait();
  sweepSeconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void SweepSearch::sums(const std::vector<int32_t*>& queryToTarget, const std::vector<int32_t*>& targetToQuery,
                       const std::vector<int32_t*>& queryExcess) {
  runQueries([&](uint32_t query, const SumsMemory& memory) {
    const size_t bytes = size_t{itemCount()} * sizeof(int32_t);
    gpu_.copyOut(queryToTarget[query], memory.queryToTarget.address(), bytes);
    gpu_.copyOut(targetToQuery[query], memory.targetToQuery.address(), bytes);
    if (floor_) gpu_.copyOut(queryExcess[query], memory.queryExcess.address(), bytes);
    gpu_.wait();
  });
}

std::vector<Best> SweepSearch::best(uint32_t wanted) {
  std::vector<Best> all(queries_.size());
  runQueries([&](uint32_t query, const SumsMemory& memory) {
    all[query] = bestOf(query, memory.queryToTarget.address(), memory.targetToQuery.address(), wanted);
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
