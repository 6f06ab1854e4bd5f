/* The tokens of a release: a mapped range of a file or a copy of memory. Values, shared by the searches that use them;
 * the memory goes when the last one has ended. */
#ifndef GLOAMING_STORE_H
#define GLOAMING_STORE_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels.h"

namespace gloaming {

/** A shape that cannot be: the caller's fault. */
struct ShapeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/** The file or the system failed. */
struct StoreError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Store {
 public:
  /* Shape   starts [targets + 1]: ascending, first 0, each target 1..65,535 rows; dimension a multiple of 32, ≤ 256
   * Errors  ShapeError; StoreError if the file cannot be read or ends before the last row */
  Store(std::vector<uint32_t> starts, uint32_t dimension, const std::string& path, uint64_t byteOffset);
  /* The same from memory, which is copied. */
  Store(std::vector<uint32_t> starts, uint32_t dimension, const int8_t* values, size_t count);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  uint32_t targetCount() const { return static_cast<uint32_t>(starts_.size() - 1); }
  uint32_t residueCount() const { return starts_.back(); }
  uint32_t dimension() const { return dimension_; }
  uint32_t length(uint32_t target) const { return starts_[target + 1] - starts_[target]; }
  const int8_t* rows(uint32_t target) const { return tokens_ + size_t{starts_[target]} * dimension_; }

  /* Errors  StoreError if the mapped file has been cut since it was opened: reading it would end the process */
  void checkFile() const;

 private:
  void checkShape() const;
  void map(const std::string& path);

  const std::vector<uint32_t> starts_;
  const uint32_t dimension_;
  const int8_t* tokens_ = nullptr;
  uint64_t byteOffset_ = 0;
  int file_ = -1;
  void* mapping_ = nullptr;
  size_t mappedBytes_ = 0;
  void* copy_ = nullptr;
};

}  // namespace gloaming

#endif
