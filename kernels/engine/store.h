/* The tokens of a release, and their profiles if there are any. Immutable; searches share a store, and its memory is
 * freed when the last one has ended. */
#ifndef GLOAMING_STORE_H
#define GLOAMING_STORE_H

#include <atomic>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels.h"

namespace gloaming {

/** An invalid argument of the caller. */
struct ShapeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/** The file or the system failed. */
struct StoreError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/** Whether searches read all rows, or those of few targets. */
enum class Reading { kAll, kFew };

/** Rows of int8 values, one row for each residue: a mapped range of a file or a copy of memory. */
class Rows {
 public:
  /* Errors  StoreError if the file cannot be read or ends before the last row */
  Rows(uint32_t count, uint32_t width, const std::string& path, uint64_t byteOffset, Reading reading);
  /* Errors  ShapeError if there are not count × width values */
  Rows(uint32_t count, uint32_t width, const int8_t* values, size_t valueCount);
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  const int8_t* row(uint32_t index) const { return values_ + size_t{index} * width_; }
  /* Errors  StoreError if the mapped file has been cut since it was opened: reading it would end the process */
  void checkFile() const;
  /* Notes that a search of all rows has reached this row. If the file exceeds its resident bytes, this releases the
   * pages behind it. Results never depend on it.
   * Range  reached: one counter per search, 0 at its start */
  void approach(uint32_t index, std::atomic<uint64_t>& reached) const;

 private:
  size_t bytes() const { return size_t{count_} * width_; }
  void map(const std::string& path, Reading reading);
  void letGo(uint64_t piece) const;
  /* Bytes of the mapping before the first row: mappings begin with pages. */
  uint64_t before() const { return static_cast<uint64_t>(values_ - static_cast<const int8_t*>(mapping_)); }

  const uint32_t count_, width_;
  const int8_t* values_ = nullptr;
  uint64_t byteOffset_ = 0;
  int file_ = -1;
  void* mapping_ = nullptr;
  size_t mappedBytes_ = 0, keptBytes_ = 0;
  void* copy_ = nullptr;
};

/* Shape   starts [targets + 1]: ascending, first 0, each target 1..65,535 rows; dimension a multiple of 32, ≤ 256
 * Errors  ShapeError */
void checkStarts(const std::vector<uint32_t>& starts, uint32_t dimension);

class Store {
 public:
  /* Shape   starts [targets + 1]: ascending, first 0, each target 1..65,535 rows; dimension a multiple of 32, ≤ 256
   * Errors  ShapeError; StoreError if the file cannot be read or ends before the last row */
  Store(std::vector<uint32_t> starts, uint32_t dimension, const std::string& path, uint64_t byteOffset);
  /* Opens a store from memory, which is copied. */
  Store(std::vector<uint32_t> starts, uint32_t dimension, const int8_t* values, size_t count);

  /* Rows of kProfileWidth from a file or, copied, from memory; before anything uses the store. Errors as above */
  void setProfiles(const std::string& path, uint64_t byteOffset);
  void setProfiles(const int8_t* values, size_t count);

  uint32_t targetCount() const { return static_cast<uint32_t>(starts_.size() - 1); }
  uint32_t residueCount() const { return starts_.back(); }
  uint32_t dimension() const { return dimension_; }
  uint32_t length(uint32_t target) const { return starts_[target + 1] - starts_[target]; }
  const int8_t* rows(uint32_t target) const { return tokens_->row(starts_[target]); }
  /* Rows::approach */
  void approach(uint32_t target, std::atomic<uint64_t>& reached) const { tokens_->approach(starts_[target], reached); }
  bool hasProfiles() const { return profiles_.has_value(); }
  const int8_t* profile(uint32_t target) const { return profiles_->row(starts_[target]); }

  /* Errors  StoreError if a mapped file has been cut since it was opened */
  void checkFiles() const;

 private:
  const std::vector<uint32_t> starts_;
  const uint32_t dimension_;
  std::optional<Rows> tokens_, profiles_;
};

}  // namespace gloaming

#endif
