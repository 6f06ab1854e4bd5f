/* Searches over many targets: pool jobs that call one table of kernels. Each result is written at its target's place in
 * the list, so results are in list order however threads interleave. */
#ifndef GLOAMING_SEARCH_H
#define GLOAMING_SEARCH_H

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kernels.h"
#include "engine/pool.h"
#include "engine/store.h"
#include "reference/reference.h"

namespace gloaming {

/** A query's tokens with the packing of one table; owns both. */
class OwnedQuery {
 public:
  using PackedBytes = size_t (*)(uint32_t, uint32_t);

  /* Errors  ShapeError if the length is not 1..65,535, the count is not length × dimension, or a norm is too large */
  OwnedQuery(const int8_t* values, size_t count, uint32_t length, uint32_t dimension);
  /* Errors  ShapeError if the count is not length × kProfileWidth, a norm is too large, or a value is below 0 */
  void setProfile(const int8_t* values, size_t count);
  /** [length × kProfileWidth]; null without a profile. */
  const int8_t* profile() const { return profile_.empty() ? nullptr : profile_.data(); }
  /* Allocates and stores what pack(tokens, memory) writes. */
  template <class Pack>
  void pack(PackedBytes packedBytes, const Pack& pack) {
    allocate(packedBytes(length_, dimension_));
    pack(tokens(), packed_.get());
  }
  PackedQuery view() const { return {tokens(), packed_.get()}; }
  uint32_t length() const { return length_; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  Tokens tokens() const { return {values_.data(), length_, dimension_}; }
  void allocate(size_t bytes);

  std::vector<int8_t> values_, profile_;
  uint32_t length_, dimension_;
  std::unique_ptr<void, Free> packed_;
};

/** Calls done once, on a pool thread, when the job has ended; failure is null after success or cancellation. */
class Search : public Job, public std::enable_shared_from_this<Search> {
 public:
  using Done = std::function<void(std::shared_ptr<Search> search, std::exception_ptr failure)>;

  Search(const Kernels& kernels, std::shared_ptr<const Store> store, Done done)
      : kernels_(kernels), store_(std::move(store)), done_(std::move(done)) {}

 protected:
  void finish(std::exception_ptr failure) override { done_(shared_from_this(), failure); }
  /* Errors  ShapeError naming the first index that is no target */
  void checkTargets(const std::vector<uint32_t>& targets, bool ascending) const {
    checkTargets(targets, ascending, store_->targetCount());
  }
  static void checkTargets(const std::vector<uint32_t>& targets, bool ascending, uint32_t targetCount);

  const Kernels& kernels_;
  const std::shared_ptr<const Store> store_;

 private:
  const Done done_;
};

/* A search for the sums of MaxSim, on the CPU or a GPU. */
class SumsSearch : public Search {
 public:
  struct Sums {
    std::vector<int32_t> queryToTarget, targetToQuery;
    /** Excess (kernels.h); empty without a floor. */
    std::vector<int32_t> queryExcess = {};
  };
  using Search::Search;
  /** One per query, each in list order; complete when done was called without failure. */
  std::vector<Sums> sums;

 protected:
  /** Best dot product of each token of a query. */
  struct Closest {
    const int32_t* values;
    uint32_t length;
  };
  /* Writes the sums of one item of a query's list. */
  static void settle(Sums& sums, uint32_t item, Closest closest, int32_t rowSum, std::optional<int32_t> floor);
};

/** Multiply-adds of one chunk, some 50 µs on a fast core, which bounds the wait of threads for each other at the
 * end. */
constexpr uint64_t kChunkProducts = 25'000'000;

/** Rows of a target per call of a kernel, so that cancellation is checked every kCallProducts multiply-adds. */
uint32_t rowsPerCall(uint32_t longestQuery, uint32_t dimension);

/* Raises the maxima of each query by some rows of a target. The results are void once cancelled.
 * closest: one array per query, [roundUp(length, kTokenRound)], one after the other. rowSums: one per query. */
void compareRows(const Kernels& kernels, const std::vector<PackedQuery>& queries, const Tokens& rows,
                 uint32_t rowsPerCall, int32_t* closest, int32_t* rowSums, Workspace& workspace,
                 const std::atomic<bool>& cancelled);

/* MaxSim of some queries with each listed target, in one pass over the targets. */
class MaxSimSearch : public SumsSearch {
 public:
  /* Shape  eligible: ascending target indices, all targets without it
   * Range  floor −32,767..32,767, of the excess, which is not computed without it */
  MaxSimSearch(const Kernels& kernels, std::shared_ptr<const Store> store, std::vector<OwnedQuery> queries,
               std::optional<std::vector<uint32_t>> eligible, Done done, std::optional<int32_t> floor = std::nullopt);

 protected:
  uint64_t prepare() override;
  void run(uint64_t chunk, Workspace& workspace) override;

 private:
  /** Start of a chunk: a place in the list and a row of that target. */
  struct Cut {
    uint32_t item, row;
  };
  /** A target that several chunks share. */
  struct Shared {
    std::vector<int32_t> closest;
    std::vector<int32_t> sums;
    uint32_t rowsDone = 0;
  };

  uint32_t itemCount() const;
  uint32_t targetOf(uint32_t item) const { return eligible_ ? (*eligible_)[item] : item; }
  void share(uint32_t item, uint32_t rowCount, const int32_t* closest, const int32_t* rowSums);
  void settleAll(uint32_t item, const int32_t* closest, const int32_t* rowSums);

  std::vector<OwnedQuery> queries_;
  /** Views of queries_, for the kernels. */
  std::vector<PackedQuery> packed_;
  const std::optional<std::vector<uint32_t>> eligible_;
  const std::optional<int32_t> floor_;
  std::vector<Cut> cuts_;
  size_t closestCount_ = 0;
  uint32_t rowsPerCall_ = kMaxRows;
  /** Bytes of the targets that have been released (Rows::approach). */
  std::atomic<uint64_t> reached_{0};
  std::mutex mutex_;
  std::unordered_map<uint32_t, Shared> shared_;
};

/** Scores of letters in an affine search; empty where letters score nothing. */
struct OwnedLetters {
  /** [kLetterCount × kLetterCount], each −127..127. */
  std::vector<int8_t> scores;
  /** Text: the low five bits of a character are its letter. The targets' texts follow each other in list order. */
  std::vector<uint8_t> query, targets;
};

/** Results of an affine search: scores, scores with both sums of MaxSim, profile scores (profile_score.h), alignments,
 * or lists of alignments. */
enum class AffineWork { kScores, kMeasures, kProfileScores, kAlignments, kAlignmentLists };

/** What lists of alignments hold. */
struct ListBounds {
  /** Least score of a further alignment, by item; 1 or more. */
  std::vector<int32_t> leastScores;
  /** 1..kMaxAlignments. */
  uint32_t maxCount = 0;
};

/* Self-score of a protein, by the reference.
 * Range   0..65,535 × 32,767
 * Errors  ShapeError if a parameter is out of range, or letters or a profile that score are absent or misshapen */
int32_t checkedSelfScore(const OwnedQuery& query, AffineParameters parameters, OwnedLetters letters);

/* Affine scores, measures, alignments or lists of alignments of one query with each listed target. */
class AffineSearch : public Search {
 public:
  struct Alignment {
    AffineAlignment fixed;  // its runs pointer is void; they are below
    std::vector<uint32_t> runs;
  };

  AffineSearch(const Kernels& kernels, std::shared_ptr<const Store> store, OwnedQuery query,
               std::vector<uint32_t> targets, AffineParameters parameters, OwnedLetters letters, AffineWork work,
               Done done);
  /* A search with kAlignmentLists. */
  AffineSearch(const Kernels& kernels, std::shared_ptr<const Store> store, OwnedQuery query,
               std::vector<uint32_t> targets, AffineParameters parameters, OwnedLetters letters, ListBounds bounds,
               Done done);
  const AffineWork work;
  std::vector<int32_t> scores;
  /** With kMeasures; else empty. */
  SumsSearch::Sums sums;
  std::vector<Alignment> alignments;
  std::vector<AlignmentList> lists;

 protected:
  uint64_t prepare() override;
  void run(uint64_t chunk, Workspace& workspace) override;

  /* Checks the arguments, allocates the results, and orders the items by length.
   * Errors  ShapeError, StoreError */
  void placeItems();
  bool isAligned() const { return work == AffineWork::kAlignments || work == AffineWork::kAlignmentLists; }
  bool hasProfiles() const { return parameters_.profileWeight > 0 || work == AffineWork::kProfileScores; }
  bool hasLetters() const { return !letters_.scores.empty(); }
  uint32_t lengthOf(uint32_t item) const { return store_->length(targets_[item]); }
  /* The letters of an item's target, with kLetterPadding more. */
  void copyLetters(uint32_t item, uint8_t* to) const;

  OwnedQuery query_;
  const std::vector<uint32_t> targets_;
  AffineParameters parameters_;
  OwnedLetters letters_;
  const ListBounds bounds_;
  /** Items in order of work: the longest first, within each chunk. */
  std::vector<uint32_t> order_;

 private:
  void placeLetters();
  void checkBounds() const;
  void cutIntoChunks();
  size_t countAlone(size_t lanes) const;
  size_t countBatches(const std::vector<uint32_t>& items, size_t lanes) const;
  void scoreBatch(const std::vector<AffineTask>& tasks, const uint32_t* items, Workspace& workspace);
  void compareAlone(uint32_t item, Workspace& workspace);

  /** The same query packed for MaxSim; empty without sums. */
  std::vector<OwnedQuery> compared_;
  /** Start of each item's letters, and the end of the last. */
  std::vector<size_t> letterStarts_;
  /** Start of each chunk in order_, and the end of the last. */
  std::vector<size_t> cuts_;
};

}  // namespace gloaming

#endif
