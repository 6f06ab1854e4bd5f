/* Target rows prepared for a table of kernels, for direct calls of its functions. */
#ifndef GLOAMING_TEST_PREPARED_ROWS_H
#define GLOAMING_TEST_PREPARED_ROWS_H

#include <cstdlib>
#include <memory>

#include "kernels.h"

namespace gloaming {

class PreparedRows {
 public:
  PreparedRows(const Kernels& kernels, const int8_t* rows, uint32_t rowCount, uint32_t dimension) : stored_(rows) {
    if (kernels.maxsimPrepare == nullptr) return;
    const size_t bytes = size_t{rowCount} * dimension * kernels.maxsimPreparedBytes;
    prepared_.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    kernels.maxsimPrepare(rows, rowCount, dimension, prepared_.get());
  }
  const void* values() const { return prepared_ == nullptr ? stored_ : prepared_.get(); }

 private:
  const int8_t* stored_;
  std::unique_ptr<void, decltype(&std::free)> prepared_{nullptr, std::free};
};

}  // namespace gloaming

#endif
