/* Searches of several queries, each with a list of targets of its own: the hits of a prefilter. */
#ifndef GLOAMING_LISTED_SEARCH_H
#define GLOAMING_LISTED_SEARCH_H

#include "engine/search.h"

namespace gloaming {

/* MaxSim of each query with the targets of its list. A target is read once for all queries that list it. The lists of a
 * hundred queries cover most of a release, and each list exceeds a processor's cache. */
class ListedSearch : public SumsSearch {
 public:
  /* Shape  lists: ascending target indices, one list for each query; sums follow the order of each list
   * Range  floor −32,767..32,767, of the excess */
  ListedSearch(const Kernels& kernels, std::shared_ptr<const Store> store, std::vector<OwnedQuery> queries,
               std::vector<std::vector<uint32_t>> lists, int32_t floor, Done done);

 protected:
  uint64_t prepare() override;
  void run(uint64_t chunk, Workspace& workspace) override;

 private:
  /** A query that lists a target, and its place in the list. */
  struct Entry {
    uint32_t query, place;
  };

  void invertLists();
  void cutIntoChunks();

  std::vector<OwnedQuery> queries_;
  const std::vector<std::vector<uint32_t>> lists_;
  const int32_t floor_;
  /** Entries of target t start at entryStarts_[t], in order of the queries. */
  std::vector<uint32_t> entryStarts_;
  std::vector<Entry> entries_;
  /** The first target of each chunk, and the end of the last. */
  std::vector<uint32_t> cuts_;
  uint32_t rowsPerCall_ = kMaxRows;
};

}  // namespace gloaming

#endif
