/* Expected MaxSim from this machine's fastest CPU kernels. kernels-equality proves that they equal the reference, which
 * would take hours for large data. */
#ifndef GLOAMING_TEST_ORACLE_H
#define GLOAMING_TEST_ORACLE_H

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "reference/reference.h"
#include "engine/store.h"
#include "test/prepared_rows.h"

namespace gloaming {

/** Expected sums of a pair, with the excess over a floor. */
struct Swept : MaxSim {
  int32_t queryExcess;
};

class Oracle {
 public:
  explicit Oracle(const Tokens& query) : kernels_(*chooseKernels(nullptr)), query_(query) {
    const size_t bytes = kernels_.maxsimPackedBytes(query.length, query.dimension);
    packed_.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    kernels_.maxsimPack(query, packed_.get());
  }

  Swept with(const Store& store, uint32_t target, int32_t floor = INT16_MAX) const {
    const size_t count = roundUp(query_.length, kTokenRound);
    const std::unique_ptr<int32_t, decltype(&std::free)> closest(
        static_cast<int32_t*>(std::aligned_alloc(64, count * sizeof(int32_t))), std::free);
    std::fill_n(closest.get(), count, std::numeric_limits<int32_t>::min());
    Swept sums{{0, 0}, 0};
    for (uint32_t row = 0; row < store.length(target); row += kMaxRows) {
      const uint32_t count = std::min(kMaxRows, store.length(target) - row);
      const PreparedRows rows(kernels_, store.rows(target) + size_t{row} * query_.dimension, count, query_.dimension);
      sums.targetToQuery += kernels_.maxsimRows({query_, packed_.get()}, rows.values(), count, closest.get());
    }
    for (uint32_t i = 0; i < query_.length; ++i) {
      sums.queryToTarget += closest.get()[i];
      sums.queryExcess += excessOver(floor, closest.get()[i]);
    }
    return sums;
  }

 private:
  const Kernels& kernels_;
  const Tokens query_;
  std::unique_ptr<void, decltype(&std::free)> packed_{nullptr, std::free};
};

}  // namespace gloaming

#endif
