/* Affine scores and both sums of MaxSim of one query with listed targets of one GPU: slices, panels, launches,
 * results. */
#ifndef GLOAMING_CUDA_AFFINE_SWEEP_H
#define GLOAMING_CUDA_AFFINE_SWEEP_H

#include <atomic>
#include <functional>

#include "cuda/host/affine_plan.h"
#include "cuda/host/fleet.h"

namespace gloaming {
namespace cuda {

class AffineSweep {
 public:
  /** Number of a target within its part of the release. */
  struct Listed {
    uint32_t target, length;
  };
  /** Of each listed target, in the order of the list. */
  struct Answers {
    std::vector<int32_t> scores, queryToTarget, targetToQuery;
  };
  /** Writes the letters of a place of the list and kLetterPadding more bytes; null where letters score nothing. */
  using CopyLetters = std::function<void(size_t place, uint8_t* to)>;

  /* Shape  queryLetters [query.length], each below kLetterCount
   * Range  parameters without profiles */
  AffineSweep(const ReleasePart& part, const Tokens& query, const uint8_t* queryLetters,
              const AffineParameters& parameters, const std::atomic<bool>& cancelled)
      : part_(part), gpu_(*part.gpu), query_(query), queryLetters_(queryLetters), parameters_(parameters),
        cancelled_(cancelled) {}

  /* Computes all results. It checks the cancel flag between launches; if set, it returns early and the results are
   * void. Shape   list: the longest first, targets in any order, also repeated
   * Errors  CudaError */
  Answers run(const std::vector<Listed>& list, const CopyLetters& copyLetters);
  /** Time that the launches took so far, for the bench. */
  double sweepSeconds() const { return sweepSeconds_; }

 private:
  struct QueryMemory {
    GpuMemory tokens, letterScores;
  };
  void runSlice(const AffineSlice& slice, const std::vector<AffineItem>& items, const std::vector<uint8_t>& letters,
                const QueryMemory& query, Answers& answers);
  void launch(AffineLaunch& task);
  GpuMemory scratch(size_t bytes) const { return GpuMemory::scratch(gpu_, bytes); }
  bool isCancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  const ReleasePart& part_;
  Gpu& gpu_;
  const Tokens query_;
  const uint8_t* const queryLetters_;
  const AffineParameters parameters_;
  const std::atomic<bool>& cancelled_;
  double sweepSeconds_ = 0;
};

}  // namespace cuda
}  // namespace gloaming

#endif
