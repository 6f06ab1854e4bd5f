/* Queries packed for direct calls of the fastest kernels, and BLOSUM62 as tokens.
 *
 * A query token is the BLOSUM62 row of its letter. A target token is 64 at its letter. Their dot product is 64 × B.
 * With multiplier 1,024 and offset 0 the substitution score is (64 × B × 1,024) >> 16 = B. */
#ifndef GLOAMING_TEST_BLOSUM_H
#define GLOAMING_TEST_BLOSUM_H

#include <parasail.h>
#include <parasail/matrices/blosum62.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "reference/reference.h"
#include "engine/workspace.h"
#include "test/prepared_rows.h"

namespace gloaming {

using Memory = std::unique_ptr<void, decltype(&std::free)>;

inline Memory alignedMemory(size_t bytes) { return {std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free}; }

constexpr uint32_t kBlosumDimension = 32;
/** A gap of k residues costs 11 + (k − 1). */
constexpr int kGapOpen = 11, kGapExtend = 1;

inline uint32_t letterOf(char letter) {
  return static_cast<uint32_t>(parasail_blosum62.mapper[static_cast<uint8_t>(letter)]);
}

inline int32_t blosumScore(char a, char b) { return parasail_blosum62.matrix[letterOf(a) * 24 + letterOf(b)]; }

inline std::vector<int8_t> blosumTarget(const std::string& protein) {
  std::vector<int8_t> rows(protein.size() * kBlosumDimension);
  for (size_t i = 0; i < protein.size(); ++i) rows[i * kBlosumDimension + letterOf(protein[i])] = 64;
  return rows;
}

class BlosumQuery {
 public:
  BlosumQuery(const Kernels& kernels, const std::string& protein)
      : kernels_(kernels), rows_(protein.size() * kBlosumDimension) {
    for (size_t i = 0; i < protein.size(); ++i) {
      const int* scores = parasail_blosum62.matrix + letterOf(protein[i]) * 24;
      for (size_t k = 0; k < 24; ++k) rows_[i * kBlosumDimension + k] = static_cast<int8_t>(scores[k]);
    }
    query_.tokens = {rows_.data(), static_cast<uint32_t>(protein.size()), kBlosumDimension};
    packed_ = alignedMemory(kernels_.affinePackedBytes(query_.tokens.length, kBlosumDimension));
    noLetters_.resize(kMaxLength + kLetterPadding);
    kernels_.affinePack({query_.tokens, noLetters_.data(), nullptr, kParameters_}, packed_.get());
    query_.packed = packed_.get();
  }

  int32_t score(const std::vector<int8_t>& target) const { return kernels_.affineScore(taskOf(target)); }
  /** Valid until the next call. */
  AffineAlignment align(const std::vector<int8_t>& target) const { return kernels_.affineAlign(taskOf(target)); }
  /* By batches. */
  std::vector<int32_t> scores(const std::vector<std::vector<int8_t>>& targets) const {
    std::vector<AffineTask> tasks;
    for (const std::vector<int8_t>& target : targets) tasks.push_back(taskOf(target));
    std::vector<int32_t> found(tasks.size());
    for (size_t t = 0; t < tasks.size(); t += kernels_.affineBatch) {
      const size_t count = std::min<size_t>(kernels_.affineBatch, tasks.size() - t);
      kernels_.affineScores(&tasks[t], static_cast<uint32_t>(count), &found[t]);
    }
    return found;
  }

 private:
  AffineTask taskOf(const std::vector<int8_t>& target) const {
    const auto length = static_cast<uint32_t>(target.size() / kBlosumDimension);
    const Letters letters{noLetters_.data(), noLetters_.data()};
    return {query_, target.data(), length, letters, {}, kParameters_, workspace_, neverCancelled_};
  }

  static constexpr AffineParameters kParameters_{1024, 0, kGapOpen, kGapExtend};

  const Kernels& kernels_;
  std::vector<int8_t> rows_;
  std::vector<uint8_t> noLetters_;
  Memory packed_{nullptr, std::free};
  PackedQuery query_{};
  mutable Workspace workspace_;
  const std::atomic<bool> neverCancelled_{false};
};

/** A query packed for MaxSim. */
class MaxSimQuery {
 public:
  explicit MaxSimQuery(const Tokens& tokens)
      : tokens_(tokens), packed_(alignedMemory(kernels_.maxsimPackedBytes(tokens.length, tokens.dimension))),
        closest_(alignedMemory(roundUp(tokens.length, kTokenRound) * sizeof(int32_t))) {
    kernels_.maxsimPack(tokens, packed_.get());
  }

  MaxSim sums(const int8_t* rows, uint32_t rowCount) const {
    auto* closest = static_cast<int32_t*>(closest_.get());
    std::fill_n(closest, roundUp(tokens_.length, kTokenRound), std::numeric_limits<int32_t>::min());
    MaxSim sums{0, 0};
    for (uint32_t row = 0; row < rowCount; row += kMaxRows) {
      const uint32_t count = std::min(kMaxRows, rowCount - row);
      const PreparedRows ready(kernels_, rows + size_t{row} * tokens_.dimension, count, tokens_.dimension);
      sums.targetToQuery += kernels_.maxsimRows({tokens_, packed_.get()}, ready.values(), count, closest);
    }
    for (uint32_t i = 0; i < tokens_.length; ++i) sums.queryToTarget += closest[i];
    return sums;
  }

 private:
  const Kernels& kernels_ = *chooseKernels(nullptr);
  const Tokens tokens_;
  const Memory packed_, closest_;
};

}  // namespace gloaming

#endif
