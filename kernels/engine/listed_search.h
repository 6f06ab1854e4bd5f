/* A few rows of each of some queries against targets of its own: what is left of a release after a first look. */
#ifndef GLOAMING_LISTED_SEARCH_H
#define GLOAMING_LISTED_SEARCH_H

#include "engine/search.h"

namespace gloaming {

/* MaxSim of each query with the targets of its list. A target is read once for all queries that list it: lists of a
 * hundred queries are most of a release, and each alone is more than a processor keeps at hand. */
class ListedSearch : public SumsSearch {
 public:
  /* Shape  lists: ascending target indices, one list for each query; sums come in the order of each
   * Range  floor ±32,767: best dot products count by what they are above it, too */
  ListedSearch(const Kernels& kernels, std::shared_ptr<const Store> store, std::vector<OwnedQuery> queries,
               std::vector<std::vector<uint32_t>> lists, int32_t floor, Done done);

 protected:
  uint64_t prepare() override;
  void run(uint64_t chunk, Workspace& workspace) override;

 private:
  /** A query that lists a target, and where. */
  struct Asker {
    uint32_t query, place;
  };

  void gatherAskers();
  void cutIntoChunks();

  std::vector<OwnedQuery> queries_;
  const std::vector<std::vector<uint32_t>> lists_;
  const int32_t floor_;
  /** Askers of target t from askerStarts_[t] on, in order of the queries. */
  std::vector<uint32_t> askerStarts_;
  std::vector<Asker> askers_;
  /** The first target of each chunk, and the end of the last. */
  std::vector<uint32_t> cuts_;
  uint32_t rowsPerCall_ = kMaxRows;
};

}  // namespace gloaming

#endif
