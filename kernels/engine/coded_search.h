/* The codebook prefilter: centroids (words), the centroid ids of a release's rows (codes), tables of each query's best
 * dot product with each centroid, and coarse scores of targets by table look-up. */
#ifndef GLOAMING_CODED_SEARCH_H
#define GLOAMING_CODED_SEARCH_H

#include "engine/search.h"

namespace gloaming {

/** Centroids of the lower level per centroid of the upper level. */
constexpr uint32_t kWordChildren = 16;
/** A table drops this many low bits of a dot product: 0..32,767 become 0..255. */
constexpr uint32_t kTableShift = 7;

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

 private:
  const std::vector<uint32_t> starts_;
  const uint32_t dimension_;
  std::vector<OwnedQuery> blocks_;
  Rows codes_;
};

/** A job that reads centroids or their ids instead of a store. */
class CodedJob : public Search {
 public:
  CodedJob(const Kernels& kernels, Done done) : Search(kernels, nullptr, std::move(done)) {}
};

/* Fills a table: the best dot product of each query with each centroid, at least 0, >> kTableShift. */
class TableSearch : public CodedJob {
 public:
  /* Range  1..kCodedQueries queries */
  TableSearch(const Kernels& kernels, std::shared_ptr<const Codes> codes, std::vector<OwnedQuery> queries, Done done);
  /** [kCodeCount × kCodedQueries]; zero where there is no query. */
  std::vector<uint8_t> table;

 protected:
  uint64_t prepare() override;
  void run(uint64_t block, Workspace& workspace) override;

 private:
  const std::shared_ptr<const Codes> codes_;
  const std::vector<OwnedQuery> queries_;
};

/* Coarse scores (similarity, excess) of each listed target for up to kCodedQueries queries, by table look-up. */
class CodedSearch : public CodedJob {
 public:
  struct Sums {
    std::vector<uint32_t> closeness, excess;
  };
  /* Shape  table [kCodeCount × kCodedQueries]; eligible: ascending target indices, all targets without it
   * Range  floor 0..255, in the table's unit */
  CodedSearch(const Kernels& kernels, std::shared_ptr<const Codes> codes, std::vector<uint8_t> table,
              uint32_t queryCount, std::optional<std::vector<uint32_t>> eligible, uint8_t floor, Done done);
  /** One per query, each in list order. */
  std::vector<Sums> sums;

 protected:
  uint64_t prepare() override;
  void run(uint64_t chunk, Workspace& workspace) override;

 private:
  uint32_t itemCount() const { return eligible_ ? static_cast<uint32_t>(eligible_->size()) : codes_->targetCount(); }

  const std::shared_ptr<const Codes> codes_;
  const std::vector<uint8_t> table_;
  const uint32_t queryCount_;
  const std::optional<std::vector<uint32_t>> eligible_;
  const uint8_t floor_;
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
