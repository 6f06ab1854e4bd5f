/* Times affine scores, with both sums of MaxSim, of a query with a thousand targets of a part of a release. */
#ifndef GLOAMING_TEST_CUDA_AFFINE_BENCH_H
#define GLOAMING_TEST_CUDA_AFFINE_BENCH_H

#include <algorithm>

#include "cuda/host/affine_sweep.h"
#include "engine/workspace.h"
#include "reference/reference.h"

namespace gloaming {
namespace cuda {

class AffineBench {
 public:
  AffineBench(const ReleasePart& part, const Store& store, const Tokens& query)
      : part_(part), store_(store), query_(query), queryLetters_(query.length),
        sweep_(part, query, queryLetters_.data(), kParameters, cancelled_) {
    const uint32_t count = part.endTarget - part.firstTarget, wanted = std::min(count, 1'000u);
    for (uint32_t k = 0; k < wanted; ++k) {
      const auto target = static_cast<uint32_t>(uint64_t{k} * count / wanted);
      list_.push_back({target, store.length(part.firstTarget + target)});
    }
    std::sort(list_.begin(), list_.end(), [](const auto& a, const auto& b) { return a.length > b.length; });
  }

  void run() { answers_ = sweep_.run(list_, nullptr); }
  /* Whether the last run has the reference's results. */
  bool isRight() const {
    Workspace workspace;
    for (size_t place = 0; place < list_.size(); place += list_.size() / 20 + 1) {
      const auto [target, length] = list_[place];
      const Tokens rows{store_.rows(part_.firstTarget + target), length, query_.dimension};
      const std::vector<uint8_t> letters(length + kLetterPadding);
      const PackedQuery query{query_, nullptr};
      const AffineTask task{query, rows.values, length,    {queryLetters_.data(), letters.data()},
                            {},    kParameters, workspace, cancelled_};
      const MaxSim sums = maxsimReference(query_, rows);
      if (answers_.scores[place] != referenceAffineScore(task) || answers_.queryToTarget[place] != sums.queryToTarget ||
          answers_.targetToQuery[place] != sums.targetToQuery) {
        return false;
      }
    }
    return true;
  }
  /** 10⁹ cells of a run. */
  double gigacells() const {
    double rows = 0;
    for (const auto& listed : list_) rows += listed.length;
    return rows * query_.length * 1e-9;
  }
  double sweepSeconds() const { return sweep_.sweepSeconds(); }

 private:
  static constexpr AffineParameters kParameters{600, 2, 20, 3};

  const ReleasePart& part_;
  const Store& store_;
  const Tokens query_;
  const std::vector<uint8_t> queryLetters_;
  const std::atomic<bool> cancelled_{false};
  std::vector<AffineSweep::Listed> list_;
  AffineSweep sweep_;
  AffineSweep::Answers answers_;
};

}  // namespace cuda
}  // namespace gloaming

#endif
