/* One comparison of a table of kernels with the reference. A line of numbers describes it completely, so that a failure
 * can be repeated and added to corpus.txt. */
#ifndef GLOAMING_TEST_CASE_H
#define GLOAMING_TEST_CASE_H

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "reference/reference.h"
#include "test/emulated_tiles.h"
#include "test/plain_tiles.h"
#include "test/prepared_rows.h"
#include "test/random_tokens.h"
#include "engine/workspace.h"

namespace gloaming {

/* Returns a floor for excesses. All powers of two are equally frequent, to suit the products of all kinds of rows. */
inline int32_t randomFloor(Random& random) { return static_cast<int32_t>(below(random, 1u << below(random, 16))); }

/* MaxSim of a pair, by the reference. */
inline PairSums referenceSums(const AffineTask& task) {
  const PackedQuery query{task.query.tokens, task.query.tokens.values};
  const auto& [values, length, dimension] = query.tokens;
  std::vector<int32_t> closest(roundUp(length, kTokenRound), INT32_MIN);
  PairSums sums{0, 0};
  for (uint32_t row = 0; row < task.targetLength; row += kMaxRows) {
    sums.targetToQuery += referenceMaxsimRows(query, task.target + size_t{row} * dimension,
                                              std::min(kMaxRows, task.targetLength - row), closest.data());
  }
  for (uint32_t i = 0; i < length; ++i) sums.queryToTarget += closest[i];
  return sums;
}

/* Whether affineMeasures returns these scores and sums; true for a table without it. */
inline bool sameMeasures(const Kernels& kernels, const std::vector<AffineTask>& tasks,
                         const std::vector<int32_t>& scores, const std::vector<PairSums>& wanted) {
  if (kernels.affineMeasures == nullptr) return true;
  std::vector<int32_t> found(tasks.size());
  std::vector<PairSums> sums(tasks.size());
  kernels.affineMeasures(tasks.data(), static_cast<uint32_t>(tasks.size()), found.data(), sums.data());
  const auto isSame = [](const PairSums& a, const PairSums& b) {
    return a.queryToTarget == b.queryToTarget && a.targetToQuery == b.targetToQuery;
  };
  return found == scores && std::equal(sums.begin(), sums.end(), wanted.begin(), isSame);
}

/** Most cells of a batch, if it has more than two targets. */
constexpr uint64_t kBatchCells = 40'000'000;

/** Distribution of the rows' values. */
enum class Kind : uint32_t { kRandom, kExtreme, kEqual, kZero, kSparse, kRelated, kBorder, kWide, kCount };

struct Case {
  uint64_t seed;
  uint32_t dimension, queryLength, targetLength, kind;
  AffineParameters parameters;

  static constexpr const char* kFormat = "%llu %u %u %u %u %d %d %d %d";

  std::string line() const {
    char text[200];
    std::snprintf(text, sizeof text, kFormat, static_cast<unsigned long long>(seed), dimension, queryLength,
                  targetLength, kind, parameters.multiplier, parameters.offset, parameters.gapOpen,
                  parameters.gapExtend);
    return text;
  }
};

/* Writes one pair of 127s, or up to three pairs that sum to about 128: the most that a row has room for. All are at
 * few places, so that they meet those of other rows. */
inline void drawWidePairs(Random& random, uint32_t dimension, int8_t* row) {
  const uint32_t places[] = {0, 2, dimension / 2 + 2, dimension - 2};
  const bool isFull = below(random, 2) == 0;
  for (uint32_t pair = 0; pair < (isFull ? 1 : 1 + below(random, 3)); ++pair) {
    const int sign = below(random, 2) == 0 ? 1 : -1;
    const int first = isFull ? 127 : 62 + static_cast<int>(below(random, 6));
    const int second = isFull ? 127 : 126 + static_cast<int>(below(random, 5)) - first;
    int8_t* to = row + places[below(random, 4)];
    to[0] = static_cast<int8_t>(sign * first);
    to[1] = static_cast<int8_t>(sign * second);
  }
}

/* Rows of a kind, each with squared norm ≤ 32,767. */
inline std::vector<int8_t> rowsOf(Random& random, Kind kind, uint32_t length, uint32_t dimension) {
  std::vector<int8_t> rows(size_t{length} * dimension);
  if (kind == Kind::kRandom || kind == Kind::kRelated) return randomRows(random, length, dimension);
  for (uint32_t i = 0; i < length; ++i) {
    int8_t* row = rows.data() + size_t{i} * dimension;
    if (kind == Kind::kExtreme) {
      // 128² + 127² = 32,513: the largest norm of a row with a −128.
      row[below(random, dimension)] = static_cast<int8_t>(below(random, 2) == 0 ? -128 : 127);
      row[below(random, dimension)] = 127;
    } else if (kind == Kind::kEqual) {
      std::memset(row, static_cast<int>(std::sqrt(32'767 / dimension)), dimension);
    } else if (kind == Kind::kSparse && below(random, 3) == 0) {
      row[below(random, dimension)] = static_cast<int8_t>(static_cast<int>(below(random, 256)) - 128);
    } else if (kind == Kind::kBorder) {
      // With 255, both bytes of a biased row, pairs whose sum is about 128 have a sum of products about 2^15.
      const int sign = below(random, 2) == 0 ? 1 : -1, isLarge = below(random, 2) == 0;
      const int first = isLarge ? 127 : 3 + static_cast<int>(below(random, 122));
      const int second = isLarge ? 127 : 126 + static_cast<int>(below(random, 5)) - first;
      int8_t* pair = row + 2 * below(random, 2);
      pair[0] = static_cast<int8_t>(sign * first);
      pair[1] = static_cast<int8_t>(sign * second);
    } else if (kind == Kind::kWide) {
      drawWidePairs(random, dimension, row);
    }
  }
  return rows;
}

inline bool sameAlignment(const AffineAlignment& a, const AffineAlignment& b) {
  return a.score == b.score && a.queryStart == b.queryStart && a.queryEnd == b.queryEnd &&
         a.targetStart == b.targetStart && a.targetEnd == b.targetEnd && a.runCount == b.runCount &&
         std::equal(a.runs, a.runs + a.runCount, b.runs);
}

inline bool sameLists(const AlignmentList& a, const AlignmentList& b) {
  const auto same = [](const OwnedAlignment& one, const OwnedAlignment& other) {
    AffineAlignment fixed = one.fixed, otherFixed = other.fixed;
    fixed.runCount = otherFixed.runCount = 0;
    return sameAlignment(fixed, otherFixed) && one.runs == other.runs;
  };
  return a.isCut == b.isCut &&
         std::equal(a.alignments.begin(), a.alignments.end(), b.alignments.begin(), b.alignments.end(), same);
}

/* Results of the reference for a case; computed once and compared with every table. */
class Expectation {
 public:
  explicit Expectation(const Case& c) {
    Random random(c.seed);
    const Kind kind = static_cast<Kind>(c.kind % static_cast<uint32_t>(Kind::kCount));
    query_ = rowsOf(random, kind, c.queryLength, c.dimension);
    target_ = rowsOf(random, kind, c.targetLength, c.dimension);
    if (kind == Kind::kRelated) {
      const std::vector<int8_t> homolog = homologRows(random, query_, c.dimension);
      std::copy_n(homolog.begin(), std::min(homolog.size(), target_.size()), target_.begin());
    }
    tokens_ = {query_.data(), c.queryLength, c.dimension};
    targetLength_ = c.targetLength;
    parameters_ = c.parameters;
    drawLetters(random, c);
    drawProfiles(random, c);
    maxsim_ = maxsimReference(tokens_, {target_.data(), c.targetLength, c.dimension});
    const PackedQuery query{tokens_, nullptr};
    const AffineTask task = taskOf(query, workspace_, 0, targetLength_);
    score_ = referenceAffineScore(task);
    alignment_ = referenceAffineAlign(task);
    drawWindows(random, query);
  }

  /* Returns the name of the operation that differs, or null. */
  const char* differs(const Kernels& kernels) const {
    if (!sameMaxSim(kernels)) return "maxsim";
    const std::unique_ptr<void, decltype(&std::free)> packed(
        std::aligned_alloc(64, roundUp(kernels.affinePackedBytes(tokens_.length, tokens_.dimension), 64)), std::free);
    kernels.affinePack({tokens_, letters_[0].data(), profileOf(0), parameters_}, packed.get());
    Workspace workspace;
    const PackedQuery query{tokens_, packed.get()};
    const AffineTask task = taskOf(query, workspace, 0, targetLength_);
    if (kernels.affineScore(task) != score_) return "affine score";
    if (!sameAlignment(kernels.affineAlign(task), alignment_)) return "affine alignment";
    if (!sameBatch(kernels, query, workspace)) return "affine scores of a batch";
    if (!profiles_[0].empty() && !sameProfileScores(kernels, query, workspace)) return "scores of profiles";
    return nullptr;
  }

 private:
  /** A part of the target, as a target of its own: its affine score, its score of profiles where there are any, and its
   * sums of MaxSim. */
  struct Window {
    uint32_t start, length;
    int32_t score, profileScore = 0;
    PairSums sums = {0, 0};
  };

  /* Draws three windows: the whole target, some rows of its beginning, and some of its end. */
  void drawWindows(Random& random, const PackedQuery& query) {
    windows_.push_back({0, targetLength_, score_});
    for (const bool isEnd : {false, true}) {
      const uint32_t length = 1 + below(random, targetLength_), start = isEnd ? targetLength_ - length : 0;
      windows_.push_back({start, length, referenceAffineScore(taskOf(query, workspace_, start, length))});
    }
    for (Window& window : windows_) {
      window.sums = referenceSums(taskOf(query, workspace_, window.start, window.length));
      if (profiles_[0].empty()) continue;
      window.profileScore = referenceProfileScore(taskOf(query, workspace_, window.start, window.length));
    }
    batchSeed_ = random();
  }

  /* Draws a random number of windows, in random order, and makes a task of each. There are few of a large pair, which
   * would take minutes under sanitizers. */
  std::vector<const Window*> drawBatch(const Kernels& kernels, const PackedQuery& query, Workspace& workspace,
                                       std::vector<AffineTask>& tasks) const {
    Random random(batchSeed_);
    const uint64_t cells = uint64_t{tokens_.length} * targetLength_;
    const uint64_t most = std::min<uint64_t>(kernels.affineBatch * 5 / 4, std::max<uint64_t>(2, kBatchCells / cells));
    std::vector<const Window*> windows(1 + below(random, static_cast<uint32_t>(most)));
    for (const Window*& window : windows) {
      window = &windows_[below(random, static_cast<uint32_t>(windows_.size()))];
      tasks.push_back(taskOf(query, workspace, window->start, window->length));
    }
    return windows;
  }

  bool sameProfileScores(const Kernels& kernels, const PackedQuery& query, Workspace& workspace) const {
    std::vector<AffineTask> tasks;
    const std::vector<const Window*> windows = drawBatch(kernels, query, workspace, tasks);
    std::vector<int32_t> scores(windows.size());
    kernels.profileScores(tasks.data(), static_cast<uint32_t>(tasks.size()), scores.data());
    return std::equal(scores.begin(), scores.end(), windows.begin(),
                      [](int32_t score, const Window* window) { return score == window->profileScore; });
  }

  bool sameBatch(const Kernels& kernels, const PackedQuery& query, Workspace& workspace) const {
    std::vector<AffineTask> tasks;
    const std::vector<const Window*> windows = drawBatch(kernels, query, workspace, tasks);
    std::vector<int32_t> scores(windows.size());
    const auto count = static_cast<uint32_t>(tasks.size());
    kernels.affineScores(tasks.data(), count, scores.data());
    std::vector<PairSums> sums;
    for (const Window* window : windows) sums.push_back(window->sums);
    return sameMeasures(kernels, tasks, scores, sums) &&
           std::equal(scores.begin(), scores.end(), windows.begin(),
                      [](int32_t score, const Window* window) { return score == window->score; });
  }

  /* Draws letters that score, in every other case, if the offset permits. */
  void drawLetters(Random& random, const Case& c) {
    letters_[0].resize(c.queryLength);
    letters_[1].resize(c.targetLength + kLetterPadding);
    if (c.seed % 2 == 0 || c.parameters.offset < -16'256 || c.parameters.offset > 32'639) return;
    for (std::vector<uint8_t>& letters : letters_) {
      for (uint8_t& letter : letters) letter = static_cast<uint8_t>(below(random, kLetterCount));
    }
    letterScores_.resize(kLetterCount * kLetterCount);
    for (int8_t& score : letterScores_) score = static_cast<int8_t>(static_cast<int>(below(random, 255)) - 127);
    parameters_.letterScores = letterScores_.data();
  }

  /* Draws profiles that score, in every other case independently, if the offset permits. The choice by seed leaves
   * older cases of corpus.txt without profiles. */
  void drawProfiles(Random& random, const Case& c) {
    if ((c.seed >> 5) % 2 == 0 || c.parameters.offset < -8'192) return;
    profiles_[0] = randomProfiles(random, c.queryLength);
    profiles_[1] = randomProfiles(random, c.targetLength);
    if (c.kind == static_cast<uint32_t>(Kind::kRelated)) {
      // Equal columns in a row: from 80 on, their score is the greatest one.
      std::copy_n(profiles_[0].begin(), std::min(profiles_[0].size(), profiles_[1].size()), profiles_[1].begin());
    }
    parameters_.profileWeight = static_cast<int32_t>(1 + below(random, below(random, 3) == 0 ? 32'767 : 3'000));
  }

  const int8_t* profileOf(size_t side) const { return profiles_[side].empty() ? nullptr : profiles_[side].data(); }

  AffineTask taskOf(const PackedQuery& query, Workspace& workspace, uint32_t start, uint32_t length) const {
    const int8_t* rows = target_.data() + size_t{start} * tokens_.dimension;
    const Letters letters{letters_[0].data(), letters_[1].data() + start};
    const int8_t* profile = profileOf(1);
    const Profiles profiles{profileOf(0), profile == nullptr ? nullptr : profile + size_t{start} * kProfileWidth};
    return {query, rows, length, letters, profiles, parameters_, workspace, neverCancelled_};
  }

  bool sameMaxSim(const Kernels& kernels) const {
    const std::unique_ptr<void, decltype(&std::free)> packed(
        std::aligned_alloc(64, roundUp(kernels.maxsimPackedBytes(tokens_.length, tokens_.dimension), 64)), std::free);
    kernels.maxsimPack(tokens_, packed.get());
    const size_t closestCount = roundUp(tokens_.length, kTokenRound);
    const std::unique_ptr<int32_t, decltype(&std::free)> closest(
        static_cast<int32_t*>(std::aligned_alloc(64, closestCount * sizeof(int32_t))), std::free);
    std::fill_n(closest.get(), closestCount, std::numeric_limits<int32_t>::min());
    MaxSim sums{0, 0};
    for (uint32_t row = 0; row < targetLength_; row += kMaxRows) {
      const uint32_t count = std::min(kMaxRows, targetLength_ - row);
      const PreparedRows rows(kernels, target_.data() + size_t{row} * tokens_.dimension, count, tokens_.dimension);
      sums.targetToQuery += kernels.maxsimRows({tokens_, packed.get()}, rows.values(), count, closest.get());
    }
    for (uint32_t i = 0; i < tokens_.length; ++i) sums.queryToTarget += closest.get()[i];
    return sums.queryToTarget == maxsim_.queryToTarget && sums.targetToQuery == maxsim_.targetToQuery;
  }

  std::vector<int8_t> query_, target_, letterScores_;
  /** Of the query, and of the target with padding. */
  std::vector<uint8_t> letters_[2];
  /** Of the query and of the target, where they score. */
  std::vector<int8_t> profiles_[2];
  Tokens tokens_{};
  uint32_t targetLength_ = 0;
  AffineParameters parameters_{};
  MaxSim maxsim_{};
  int32_t score_ = 0;
  AffineAlignment alignment_{};
  std::vector<Window> windows_;
  uint64_t batchSeed_ = 0;
  Workspace workspace_;
  const std::atomic<bool> neverCancelled_{false};
};

/* Every table that runs here, each with the plain twin of its assembly. */
inline std::vector<const Kernels*> runnableTables() {
  size_t count = 0;
  const Kernels* const* all = compiledKernels(&count);
  std::vector<const Kernels*> tables;
  for (size_t k = 0; k < count; ++k) {
    if (!canRun(*all[k])) continue;
    tables.push_back(all[k]);
    if (const Kernels* twin = plainTwinOf(*all[k])) tables.push_back(twin);
  }
  return tables;
}

/* The same, and the emulated AMX table where AMX does not run. */
inline std::vector<const Kernels*> tablesToCheck() {
  std::vector<const Kernels*> tables = runnableTables();
#if defined(GLOAMING_HAS_AMX)
  if (canRun(avx512vnniKernels) && !canRun(amxKernels)) tables.push_back(&emulatedAmxKernels);
#endif
  return tables;
}

/* Compares all tables with the reference. On a difference it prints the case and ends the program. */
inline void checkCase(const Case& c) {
  const Expectation expected(c);
  for (const Kernels* table : tablesToCheck()) {
    const char* operation = expected.differs(*table);
    if (operation == nullptr) continue;
    std::fprintf(stderr, "%s differs from the reference in %s; case: %s\n", table->name, operation, c.line().c_str());
    std::exit(1);
  }
}

}  // namespace gloaming

#endif
