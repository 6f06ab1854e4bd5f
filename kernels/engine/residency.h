/* The limit on resident bytes of all mapped token files together. */
#ifndef GLOAMING_RESIDENCY_H
#define GLOAMING_RESIDENCY_H

#include <cstdint>
#include <mutex>

namespace gloaming {

class Residency {
 public:
  static Residency& ofProcess();
  /* Sets the limit for later mappings. */
  void limit(uint64_t bytes);
  /* Grants up to the requested bytes, as many as are left. The mapping returns them when it ends. */
  uint64_t take(uint64_t wanted);
  void give(uint64_t bytes);

 private:
  std::mutex mutex_;
  uint64_t limit_ = UINT64_MAX, taken_ = 0;
};

}  // namespace gloaming

#endif
