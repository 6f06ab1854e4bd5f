/* The codebook prefilter: centroids (words), the centroid ids of a release's rows (codes), tables of each query's best
 * dot product with each centroid, and coarse scores of targets by table look-up.
 *
 * Votes. Each centroid has a group of query rows that is closest, and its best dot product. The weight of its vote is
 * its rarity: the octaves by which rows of the release of this group with at least this dot product are fewer than one
 * in kVoteShare. A group that is close to many rows, such as one of low complexity, thus has no more votes than the
 * others. */
#ifndef GLOAMING_CODED_SEARCH_H
#define GLOAMING_CODED_SEARCH_H

#include <mutex>

#include "engine/search.h"

namespace gloaming {

/** Centroids of the lower level per centroid of the upper level. */
constexpr uint32_t kWordChildren = 16;
/** A table drops this many low bits of a dot product: 0..32,767 become 0..255. */
constexpr uint32_t kTableShift = 7;
/** Rows of the release for each row of a group that may vote: a twentieth of the rows, divided among the groups. */
constexpr uint32_t kVoteShare = 20 * kRowGroups;
constexpr uint32_t kMaxWeight = 15;
/** Rows of the release whose codes are counted: evenly spread ones of a large release. */
constexpr uint32_t kCountedRows = 1u << 22;

/** The centroids, and the centroid ids of all rows of a release if there are any. */
class Codes {
 public:
  /* Shape   words [kCodeCount × dimension]; starts as those of a store
   * Errors  ShapeError if there are not kCodeCount words, or the norm of a word is too large; StoreError of the file */
  Codes(const Kernels& kernels, std::vector<uint32_t> starts, uint32_t dimension, const int8_t* words, size_t count,
        const std::string& path);

  uint32_t targetCount() const { return static_cast<uint32_t>(starts_.size() - 1); }
  uint32_t length(uint32_t target) const { return starts_[target + 1] - starts_[target]; }
  uint32_t dimension() const { return dimension_; }
  const uint16_t* codes(uint32_t target) const {
    // Aligned: a mapping begins with a page, and each code has two bytes.
    return reinterpret_cast<const uint16_t*>(codes_.row(starts_[target]));
  }
  /** Centroids, packed as queries; the rows of the search take the place of targets. */
  const std::vector<OwnedQuery>& blocks() const { return blocks_; }
  void checkFile() const { codes_.checkFile(); }
  /* Rows with each code, [kCodeCount], among evenly spread rows of the release. They are counted in the first call. */
  const std::vector<uint32_t>& counts() const;

 private:
  const std::vector<uint32_t> starts_;
  const uint32_t dimension_;
  std::vector<OwnedQuery> blocks_;
  Rows codes_;
  mutable std::once_flag isCounted_;
  mutable std::vector<uint32_t> counts_;
};

/* Sets the weights of the votes of the first `queryCount` queries of a table, whose weights are 0.
 * Shape  table [kCodeCount]; counts [kCodeCount], rows of the release with each code
 * Range  the greatest w, 0..kMaxWeight, with which at most one in kVoteShare × 2^w of the counted rows has the group
 *        and at least the dot product of the entry; 0 if there is none */
void weighVotes(std::vector<TableRow>& table, uint32_t queryCount, const std::vector<uint32_t>& counts);

/* Diagonals of queries of these lengths. Half a band has 16 diagonals up to 512 residues, and at least a 32nd of the
 * length.
 * Range  at most kCodedQueries lengths, each 1..65,535 */
Diagonals diagonalsOf(const std::vector<uint32_t>& lengths);

/** A job that reads centroids or their ids instead of a store. */
class CodedJob : public Search {
 public:
  CodedJob(const Kernels& kernels, Done done) : Search(kernels, nullptr, std::move(done)) {}
};

/* Fills a table: the best dot product of each query with each centroid, at least 0, >> kTableShift, and the group of
 * the first row that has it. Weights are 0. Group g has the rows from length × g ÷ kRowGroups on. */
class TableSearch : public CodedJob {
 public:
  /* Range  1..kCodedQueries queries */
  TableSearch(const Kernels& kernels, std::shared_ptr<const Codes> codes, std::vector<OwnedQuery> queries, Done done);
  /** [kCodeCount]; zero where there is no query. */
  std::vector<TableRow> table;

 protected:
  uint64_t prepare() override;
  void run(uint64_t chunk, Workspace& workspace) override;

 private:
  void fill(uint64_t chunk, size_t query, Workspace& workspace);

  const std::shared_ptr<const Codes> codes_;
  const std::vector<OwnedQuery> queries_;
};

/* Coarse scores of each listed target for up to kCodedQueries queries, by table look-up: the sum of what dot
 * products have over a floor, and the votes of the best band of diagonals. */
class CodedSearch : public CodedJob {
 public:
  struct Sums {
    std::vector<uint32_t> excess, votes;
  };
  /* Shape  table [kCodeCount], without weights; eligible: ascending target indices, all targets without it
   * Range  lengths: residues of each whole query, 1..65,535; floor 0..255, in the unit of the table */
  CodedSearch(const Kernels& kernels, std::shared_ptr<const Codes> codes, std::vector<TableRow> table,
              std::vector<uint32_t> lengths, std::optional<std::vector<uint32_t>> eligible, uint8_t floor, Done done);
  /** One per query, each in list order. */
  std::vector<Sums> sums;

 protected:
  uint64_t prepare() override;
  void run(uint64_t chunk, Workspace& workspace) override;

 private:
  uint32_t itemCount() const { return eligible_ ? static_cast<uint32_t>(eligible_->size()) : codes_->targetCount(); }
  uint32_t halfCount(uint32_t rows) const;

  const std::shared_ptr<const Codes> codes_;
  std::vector<TableRow> table_;
  const std::vector<uint32_t> lengths_;
  const std::optional<std::vector<uint32_t>> eligible_;
  const uint8_t floor_;
  Diagonals diagonals_{};
};

/* Assigns to each row its nearest centroid: the best upper centroid, then the best of its children if there are any.
 * Ties go to the first. */
class AssignJob : public CodedJob {
 public:
  /* Shape   parents [1..4,096 × dimension]; children [parents × kWordChildren × dimension], or none; rows likewise
   * Errors  ShapeError if rows are not whole, there are too many, or a norm is too large */
  AssignJob(const Kernels& kernels, uint32_t dimension, std::vector<int8_t> parents, std::vector<int8_t> children,
            std::vector<int8_t> rows, Done done);
  /** A parent, or parent × kWordChildren + child. */
  std::vector<uint16_t> codes;

 protected:
  uint64_t prepare() override;
  void run(uint64_t chunk, Workspace& workspace) override;

 private:
  uint32_t closestChild(uint32_t parent, const int8_t* row) const;

  const uint32_t dimension_;
  const std::vector<int8_t> parents_, children_, rows_;
};

}  // namespace gloaming

#endif
