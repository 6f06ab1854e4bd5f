/* MaxSim of some queries with the listed targets of one GPU: batches, slices, launches, and what comes back. */
#ifndef GLOAMING_CUDA_SWEEP_SEARCH_H
#define GLOAMING_CUDA_SWEEP_SEARCH_H

#include <atomic>
#include <optional>

#include "cuda/fleet.h"
#include "cuda/plan.h"
#include "cuda/select.h"

namespace gloaming {
namespace cuda {

/** The best of one query, nearest first, ties by place in the list; with all that tie with the last wanted one. */
using Best = std::vector<Found>;

class SweepSearch {
 public:
  /* Shape  eligible: ascending target indices of the part, none for all */
  SweepSearch(const ReleasePart& part, const Store& store, std::vector<Tokens> queries,
              std::optional<std::vector<uint32_t>> eligible, const std::atomic<bool>& cancelled);

  uint32_t itemCount() const { return static_cast<uint32_t>(lengths_.size()); }

  /* All sums: of query q from queryToTarget[q] and targetToQuery[q] on, in list order. Looks at the flag between
   * launches and returns early; the result is void then.
   * Errors  CudaError */
  void sums(const std::vector<int32_t*>& queryToTarget, const std::vector<int32_t*>& targetToQuery);
  /* The best `wanted` of each query; only they leave the GPU.
   * Errors  CudaError */
  std::vector<Best> best(uint32_t wanted);

 private:
  /** Consecutive batches that need each other: one, or the panels of a query. */
  struct Round {
    std::vector<Batch> batches;
    const std::vector<uint32_t>& queries() const { return batches.front().queries; }
  };
  /** Sums of a round's queries. */
  struct RoundMemory {
    GpuMemory queryToTarget, targetToQuery;
  };
  struct LaunchMemory {
    const GpuMemory &query, &chunks, &taken, &rowMaxima;
  };
  template <class Take>
  void runRounds(Take take);
  std::vector<Round> planRounds() const;
  RoundMemory runRound(const Round& round);
  void launch(const Batch& batch, const Slice& slice, const LaunchMemory& own, const RoundMemory& memory);
  Best bestOf(uint32_t query, uint64_t queryToTarget, uint64_t targetToQuery, uint32_t wanted);
  Best bestOnHost(uint32_t query, uint64_t queryToTarget, uint64_t targetToQuery, uint32_t wanted);
  bool isCancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  const ReleasePart& part_;
  Gpu& gpu_;
  const Variant variant_;
  const uint32_t dimension_;
  const std::vector<Tokens> queries_;
  const std::optional<std::vector<uint32_t>> eligible_;
  const std::atomic<bool>& cancelled_;
  /** Rows of each listed target. */
  std::vector<uint32_t> lengths_;
  uint32_t longest_ = 1;
  GpuMemory eligibleOnGpu_;
};

/* The best `wanted` of those found, and all that tie with the last of them; exact whatever the lengths.
 * Shape  lengths: rows of each listed target, in list order */
Best keepBest(std::vector<Found> found, const std::vector<uint32_t>& lengths, uint32_t queryLength, uint32_t wanted);

}  // namespace cuda
}  // namespace gloaming

#endif
