/* Shared by the tests of the CUDA backend: random releases and queries, and comparisons of searches with the reference.
 */
#ifndef GLOAMING_TEST_CUDA_CASE_H
#define GLOAMING_TEST_CUDA_CASE_H

#include <condition_variable>

#include "cuda/host/fleet_search.h"
#include "test/case.h"
#include "test/oracle.h"

namespace gloaming {
namespace cuda {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "kernels-cuda-equality: %s\n", what);
  std::exit(1);
}

/** Emulated lanes are slow, so they get smaller data. They also simulate faults, which a real GPU must not have. */
struct Setting {
  const Driver& driver;
  const void* image;
  bool isEmulated;
};

inline Kind kindOf(uint32_t index) { return static_cast<Kind>(index % static_cast<uint32_t>(Kind::kCount)); }

inline std::shared_ptr<const Store> makeStore(Random& random, uint32_t dimension, uint32_t targets, uint32_t longest) {
  std::vector<uint32_t> starts{0};
  for (uint32_t t = 0; t < targets; ++t) {
    const uint32_t limit = t % 11 == 0 ? longest : t % 5 == 0 ? 9 : longest / 4 + 1;
    starts.push_back(starts.back() + 1 + below(random, limit));
  }
  // Every kind of rows of the CPU tests: the largest products of both signs, ties, zeros.
  std::vector<int8_t> rows;
  for (uint32_t t = 0; t < targets; ++t) {
    const auto own = rowsOf(random, kindOf(t), starts[t + 1] - starts[t], dimension);
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return std::make_shared<Store>(std::move(starts), dimension, rows.data(), rows.size());
}

/* Makes this many targets of the greatest length. */
inline std::shared_ptr<const Store> makeZeros(uint32_t dimension, uint32_t targets) {
  std::vector<uint32_t> starts{0};
  for (uint32_t t = 0; t < targets; ++t) starts.push_back(starts.back() + kMaxLength);
  const std::vector<int8_t> rows(size_t{starts.back()} * dimension);
  return std::make_shared<Store>(std::move(starts), dimension, rows.data(), rows.size());
}

/* Bytes of a release in the memory of its GPUs. */
inline size_t packedBytes(const Store& store) {
  size_t bytes = 0;
  for (uint32_t t = 0; t < store.targetCount(); ++t) {
    bytes += groupsOf(store.length(t)) * groupBytes(store.dimension()) + 8;
  }
  return bytes;
}

inline std::vector<std::vector<int8_t>> makeQueries(Random& random, uint32_t dimension,
                                                    const std::vector<uint32_t>& lengths) {
  std::vector<std::vector<int8_t>> queries;
  for (uint32_t q = 0; q < lengths.size(); ++q) queries.push_back(rowsOf(random, kindOf(q), lengths[q], dimension));
  return queries;
}

inline Tokens tokensOf(const std::vector<int8_t>& rows, uint32_t dimension) {
  return {rows.data(), static_cast<uint32_t>(rows.size() / dimension), dimension};
}

struct Outcome {
  std::shared_ptr<FleetSearch> search;
  std::string failure;
};

/* Runs a search on the pool and waits for it. */
inline Outcome runSearch(Pool& pool, Fleet& fleet, const std::shared_ptr<const Store>& store,
                         const std::vector<std::vector<int8_t>>& queries, std::optional<std::vector<uint32_t>> eligible,
                         const std::function<void(FleetSearch&)>& onStart = {}, std::optional<uint32_t> wanted = {},
                         std::optional<int32_t> floor = {}) {
  std::mutex mutex;
  std::condition_variable wake;
  bool isDone = false;
  Outcome outcome;
  const auto done = [&](const std::shared_ptr<Search>&, std::exception_ptr failure) {
    const std::lock_guard<std::mutex> lock(mutex);
    try {
      if (failure != nullptr) std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      outcome.failure = error.what();
    }
    isDone = true;
    wake.notify_one();
  };
  std::vector<OwnedQuery> owned;
  for (const auto& rows : queries) {
    owned.emplace_back(rows.data(), rows.size(), static_cast<uint32_t>(rows.size() / store->dimension()),
                       store->dimension());
  }
  outcome.search = std::make_shared<FleetSearch>(fleet, referenceKernels, store, std::move(owned), std::move(eligible),
                                                 wanted, done, floor);
  if (onStart) onStart(*outcome.search);
  pool.submit(outcome.search, 3);
  std::unique_lock<std::mutex> lock(mutex);
  wake.wait(lock, [&] { return isDone; });
  return outcome;
}

inline void checkSums(const Outcome& outcome, const Store& store, const std::vector<std::vector<int8_t>>& queries,
                      const std::optional<std::vector<uint32_t>>& eligible, std::optional<int32_t> floor = {}) {
  if (!outcome.failure.empty()) require(false, outcome.failure.c_str());
  for (size_t q = 0; q < queries.size(); ++q) {
    const auto& sums = outcome.search->sums[q];
    const Oracle oracle(tokensOf(queries[q], store.dimension()));
    require(sums.queryToTarget.size() == (eligible ? eligible->size() : store.targetCount()), "a search has no answer");
    require(sums.queryExcess.size() == (floor ? sums.queryToTarget.size() : 0), "excesses are not where they belong");
    for (uint32_t item = 0; item < sums.queryToTarget.size(); ++item) {
      const Swept expected = oracle.with(store, eligible ? (*eligible)[item] : item, floor.value_or(0));
      require(sums.queryToTarget[item] == expected.queryToTarget && sums.targetToQuery[item] == expected.targetToQuery,
              "a search differs from the reference");
      require(!floor || sums.queryExcess[item] == expected.queryExcess, "a search differs in excesses");
    }
  }
}

}  // namespace cuda
}  // namespace gloaming

#endif
