#include "engine/residency.h"

#include <algorithm>

namespace gloaming {

Residency& Residency::ofProcess() {
  static Residency residency;
  return residency;
}

void Residency::limit(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  limit_ = bytes;
}

uint64_t Residency::take(uint64_t wanted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t granted = std::min(wanted, limit_ - std::min(limit_, taken_));
  taken_ += granted;
  return granted;
}

void Residency::give(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  taken_ -= bytes;
}

}  // namespace gloaming
