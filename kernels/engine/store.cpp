#include "engine/store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace gloaming {

Store::Store(std::vector<uint32_t> starts, uint32_t dimension, const std::string& path, uint64_t byteOffset)
    : starts_(std::move(starts)), dimension_(dimension), byteOffset_(byteOffset) {
  checkShape();
  try {
    map(path);
  } catch (...) {
    if (file_ >= 0) close(file_);
    throw;
  }
}

Store::Store(std::vector<uint32_t> starts, uint32_t dimension, const int8_t* values, size_t count)
    : starts_(std::move(starts)), dimension_(dimension) {
  checkShape();
  const size_t bytes = size_t{residueCount()} * dimension_;
  if (count != bytes) {
    throw ShapeError("the tokens have " + std::to_string(count) + " values, " + std::to_string(residueCount()) +
                     " rows of " + std::to_string(dimension_) + " need " + std::to_string(bytes));
  }
  copy_ = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (copy_ == nullptr && bytes > 0) throw std::bad_alloc();
  if (bytes > 0) std::memcpy(copy_, values, bytes);
  tokens_ = static_cast<const int8_t*>(copy_);
}

Store::~Store() {
  if (mapping_ != nullptr) munmap(mapping_, mappedBytes_);
  if (file_ >= 0) close(file_);
  std::free(copy_);
}

void Store::checkFile() const {
  if (file_ < 0) return;
  struct stat status;
  if (fstat(file_, &status) != 0) throw StoreError(std::string("the token file is gone: ") + std::strerror(errno));
  const uint64_t end = byteOffset_ + uint64_t{residueCount()} * dimension_;
  if (static_cast<uint64_t>(status.st_size) < end) {
    throw StoreError("the token file has " + std::to_string(status.st_size) + " bytes, its last row ends at byte " +
                     std::to_string(end));
  }
}

void Store::checkShape() const {
  if (dimension_ == 0 || dimension_ % kDimensionStep != 0 || dimension_ > kMaxDimension) {
    throw ShapeError("the dimension is " + std::to_string(dimension_) + ", not a multiple of 32 up to 256");
  }
  if (starts_.empty() || starts_[0] != 0) throw ShapeError("the residue starts must begin with 0");
  for (size_t t = 0; t + 1 < starts_.size(); ++t) {
    if (starts_[t + 1] <= starts_[t] || starts_[t + 1] - starts_[t] > kMaxLength) {
      throw ShapeError("target " + std::to_string(t) + " must have 1 to 65,535 rows, its starts are " +
                       std::to_string(starts_[t]) + " and " + std::to_string(starts_[t + 1]));
    }
  }
}

void Store::map(const std::string& path) {
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw StoreError("the token file cannot be opened: " + path + ": " + std::strerror(errno));
  checkFile();
  const size_t bytes = size_t{residueCount()} * dimension_;
  if (bytes == 0) return;
  const uint64_t before = byteOffset_ % static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  mappedBytes_ = bytes + before;
  void* mapping = mmap(nullptr, mappedBytes_, PROT_READ, MAP_SHARED, file_, static_cast<off_t>(byteOffset_ - before));
  if (mapping == MAP_FAILED) throw StoreError("the token file cannot be mapped: " + path + ": " + std::strerror(errno));
  mapping_ = mapping;
  tokens_ = static_cast<const int8_t*>(mapping) + before;
  // Searches read all of it: start reading now if it fits well, and use large pages where the kernel can.
  const auto memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (mappedBytes_ < memory / 2) madvise(mapping_, mappedBytes_, MADV_WILLNEED);
#if defined(MADV_HUGEPAGE)
  madvise(mapping_, mappedBytes_, MADV_HUGEPAGE);
#endif
}

}  // namespace gloaming
