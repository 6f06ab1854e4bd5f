/* MaxSim of some queries with the listed targets of one GPU: panels, slices, launches, results. */
#ifndef GLOAMING_CUDA_SWEEP_SEARCH_H
#define GLOAMING_CUDA_SWEEP_SEARCH_H

#include <atomic>
#include <optional>

#include "cuda/best.h"
#include "cuda/host/fleet.h"
#include "cuda/host/plan.h"

namespace gloaming {
namespace cuda {

class SweepSearch {
 public:
  /* Shape  eligible: ascending target indices of the part, all targets without it
   * Range  floor 0..32,767, of the excess, which is not computed without it */
  SweepSearch(const ReleasePart& part, const Store& store, std::vector<Tokens> queries,
              std::optional<std::vector<uint32_t>> eligible, const std::atomic<bool>& cancelled,
              std::optional<int32_t> floor = std::nullopt);

  uint32_t itemCount() const { return static_cast<uint32_t>(lengths_.size()); }

  /* All sums: of query q from queryToTarget[q], targetToQuery[q] and, with a floor, queryExcess[q] on, in list order.
   * It checks the cancel flag between launches; if set, it returns early and the result is void.
   * Errors  CudaError */
  void sums(const std::vector<int32_t*>& queryToTarget, const std::vector<int32_t*>& targetToQuery,
            const std::vector<int32_t*>& queryExcess = {});
  /* The best `wanted` of each query; only they leave the GPU.
   * Errors  CudaError */
  std::vector<Best> best(uint32_t wanted);
  /** Time that the launches of the matrix kernels took so far, for the bench. */
  double sweepSeconds() const { return sweepSeconds_; }

 private:
  /** Sums of a query; excesses are allocated only with a floor. */
  struct SumsMemory {
    GpuMemory queryToTarget, targetToQuery, queryExcess;
  };
  template <class Take>
  void runQueries(Take take);
  SumsMemory runQuery(const Tokens& query, const std::vector<Slice>& slices);
  std::shared_ptr<const std::vector<Slice>> slicesOfTargets() const;
  void launch(SweepTask& task, const SumsMemory& memory);
  Best bestOf(uint32_t query, uint64_t queryToTarget, uint64_t targetToQuery, uint32_t wanted);
  Best bestOnHost(uint32_t query, uint64_t queryToTarget, uint64_t targetToQuery, uint32_t wanted);
  GpuMemory scratch(size_t bytes) const { return GpuMemory::scratch(gpu_, bytes); }
  auto lengthOf() const {
    return [this](uint32_t item) { return lengths_[item]; };
  }
  bool isCancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  const ReleasePart& part_;
  Gpu& gpu_;
  const Variant variant_;
  const uint32_t dimension_;
  const Shape shape_;
  const std::vector<Tokens> queries_;
  const std::optional<std::vector<uint32_t>> eligible_;
  const std::atomic<bool>& cancelled_;
  const std::optional<int32_t> floor_;
  /** Rows of each listed target. */
  std::vector<uint32_t> lengths_;
  uint32_t longest_ = 1;
  /** Groups of all listed targets. */
  uint64_t groups_ = 0;
  GpuMemory eligibleOnGpu_;
  double sweepSeconds_ = 0;
};

}  // namespace cuda
}  // namespace gloaming

#endif
