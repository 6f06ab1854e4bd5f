#include "engine/store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/residency.h"

namespace gloaming {
namespace {

/** Bytes released at once: a multiple of any page size. */
constexpr uint64_t kPieceBytes = 16 << 20;
/** Distance in bytes that concurrent searches may lag behind. */
constexpr uint64_t kPiecesBehind = 2;

}  // namespace

Rows::Rows(uint32_t count, uint32_t width, const std::string& path, uint64_t byteOffset, Reading reading)
    : count_(count), width_(width), byteOffset_(byteOffset) {
  try {
    map(path, reading);
  } catch (...) {
    if (file_ >= 0) close(file_);
    throw;
  }
}

Rows::Rows(uint32_t count, uint32_t width, const int8_t* values, size_t valueCount) : count_(count), width_(width) {
  if (valueCount != bytes()) {
    throw ShapeError("the tokens have " + std::to_string(valueCount) + " values, " + std::to_string(count_) +
                     " rows of " + std::to_string(width_) + " need " + std::to_string(bytes()));
  }
  copy_ = std::aligned_alloc(64, (bytes() + 63) / 64 * 64);
  if (copy_ == nullptr && bytes() > 0) throw std::bad_alloc();
  if (bytes() > 0) std::memcpy(copy_, values, bytes());
  values_ = static_cast<const int8_t*>(copy_);
}

Rows::~Rows() {
  if (mapping_ != nullptr) munmap(mapping_, mappedBytes_);
  Residency::ofProcess().give(keptBytes_);
  if (file_ >= 0) close(file_);
  std::free(copy_);
}

void Rows::checkFile() const {
  if (file_ < 0) return;
  struct stat status;
  if (fstat(file_, &status) != 0) throw StoreError(std::string("the token file is gone: ") + std::strerror(errno));
  const uint64_t end = byteOffset_ + bytes();
  if (static_cast<uint64_t>(status.st_size) < end) {
    throw StoreError("the token file has " + std::to_string(status.st_size) + " bytes, its last row ends at byte " +
                     std::to_string(end));
  }
}

void Rows::map(const std::string& path, Reading reading) {
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw StoreError("the token file cannot be opened: " + path + ": " + std::strerror(errno));
  checkFile();
  if (bytes() == 0) return;
  const uint64_t before = byteOffset_ % static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  mappedBytes_ = bytes() + before;
  void* mapping = mmap(nullptr, mappedBytes_, PROT_READ, MAP_SHARED, file_, static_cast<off_t>(byteOffset_ - before));
  if (mapping == MAP_FAILED) throw StoreError("the token file cannot be mapped: " + path + ": " + std::strerror(errno));
  mapping_ = mapping;
  values_ = static_cast<const int8_t*>(mapping) + before;
  if (reading == Reading::kFew) return;
  keptBytes_ = Residency::ofProcess().take(mappedBytes_);
  // Start reading now, and use large pages where the kernel can.
  if (keptBytes_ == mappedBytes_) madvise(mapping_, mappedBytes_, MADV_WILLNEED);
#if defined(MADV_HUGEPAGE)
  madvise(mapping_, mappedBytes_, MADV_HUGEPAGE);
#endif
}

/* Pages of the first kept bytes stay resident, because later pages are released. Reading ahead is left to the system:
 * explicit requests of 16 MiB and more cost a third of the rate. */
void Rows::approach(uint32_t index, std::atomic<uint64_t>& reached) const {
  if (keptBytes_ == mappedBytes_) return;
  const uint64_t piece = (before() + uint64_t{index} * width_) / kPieceBytes;
  uint64_t past = reached.load(std::memory_order_relaxed);
  do {
    if (past + kPiecesBehind >= piece + 1) return;
  } while (!reached.compare_exchange_weak(past, piece + 1 - kPiecesBehind, std::memory_order_relaxed));
  for (; past + kPiecesBehind <= piece; ++past) letGo(past);
}

void Rows::letGo(uint64_t piece) const {
  const uint64_t from = piece * kPieceBytes, to = std::min<uint64_t>(mappedBytes_, from + kPieceBytes);
  if (from < keptBytes_) return;
  // The system forgets pages of a file that no process maps.
  madvise(static_cast<char*>(mapping_) + from, to - from, MADV_DONTNEED);
  posix_fadvise(file_, static_cast<off_t>(byteOffset_ - before() + from), static_cast<off_t>(to - from),
                POSIX_FADV_DONTNEED);
}

void checkStarts(const std::vector<uint32_t>& starts, uint32_t dimension) {
  if (dimension == 0 || dimension % kDimensionStep != 0 || dimension > kMaxDimension) {
    throw ShapeError("the dimension is " + std::to_string(dimension) + ", not a multiple of 32 up to 256");
  }
  if (starts.empty() || starts[0] != 0) throw ShapeError("the residue starts must begin with 0");
  for (size_t t = 0; t + 1 < starts.size(); ++t) {
    if (starts[t + 1] <= starts[t] || starts[t + 1] - starts[t] > kMaxLength) {
      throw ShapeError("target " + std::to_string(t) + " must have 1 to 65,535 rows, its starts are " +
                       std::to_string(starts[t]) + " and " + std::to_string(starts[t + 1]));
    }
  }
}

Store::Store(std::vector<uint32_t> starts, uint32_t dimension, const std::string& path, uint64_t byteOffset)
    : starts_(std::move(starts)), dimension_(dimension) {
  checkStarts(starts_, dimension_);
  tokens_.emplace(residueCount(), dimension_, path, byteOffset, Reading::kAll);
}

Store::Store(std::vector<uint32_t> starts, uint32_t dimension, const int8_t* values, size_t count)
    : starts_(std::move(starts)), dimension_(dimension) {
  checkStarts(starts_, dimension_);
  tokens_.emplace(residueCount(), dimension_, values, count);
}

void Store::setProfiles(const std::string& path, uint64_t byteOffset) {
  profiles_.emplace(residueCount(), kProfileWidth, path, byteOffset, Reading::kFew);
}

void Store::setProfiles(const int8_t* values, size_t count) {
  profiles_.emplace(residueCount(), kProfileWidth, values, count);
}

void Store::checkFiles() const {
  tokens_->checkFile();
  if (hasProfiles()) profiles_->checkFile();
}

}  // namespace gloaming
