/* How much of the files that searches read stays in memory, of all that are mapped together. */
#ifndef GLOAMING_RESIDENCY_H
#define GLOAMING_RESIDENCY_H

#include <cstdint>
#include <mutex>

namespace gloaming {

class Residency {
 public:
  static Residency& ofProcess();
  /* For what is mapped from now on. */
  void limit(uint64_t bytes);
  /* As much of the wanted bytes as is left; the same are given back when the mapping goes. */
  uint64_t take(uint64_t wanted);
  void give(uint64_t bytes);

 private:
  std::mutex mutex_;
  uint64_t limit_ = UINT64_MAX, taken_ = 0;
};

}  // namespace gloaming

#endif
