/* The team of the affine kernels in plain C++: lanes are an array, one after the other in each step. affine.h runs on
 * it unchanged. */
#ifndef GLOAMING_TEST_EMULATED_WARP_H
#define GLOAMING_TEST_EMULATED_WARP_H

#include <algorithm>
#include <vector>

#include "cuda/affine.h"

namespace gloaming {
namespace cuda {

template <uint32_t kDimension>
class EmulatedWarp {
 public:
  // Noise, because the initial values of registers and shared memory are undefined.
  EmulatedWarp() : lanes_(kWarpLanes), table_(kAffineShared / 4, 0xa5a5a5a5) {
    std::memset(static_cast<void*>(lanes_.data()), 0x5a, lanes_.size() * sizeof lanes_[0]);
  }

  template <class Function>
  void each(Function function) {
    for (uint32_t number = 0; number < kWarpLanes; ++number) function(number, lanes_[number]);
  }
  void handDown() {
    for (uint32_t number = kWarpLanes - 1; number > 0; --number) lanes_[number].above = lanes_[number - 1].below;
  }
  void meet() const {}
  uint32_t* table() { return table_.data(); }
  template <class Function>
  int32_t largest(Function function) const {
    int32_t found = INT32_MIN;
    for (const auto& lane : lanes_) found = std::max(found, function(lane));
    return found;
  }
  template <class Function>
  int32_t sum(Function function) const {
    int32_t found = 0;
    for (const auto& lane : lanes_) found += function(lane);
    return found;
  }
  template <class Function>
  void once(Function function) const {
    function();
  }
  uint32_t nextItem(const AffineLaunch& launch) const { return (*launch.takenItems)++; }

 private:
  std::vector<AffineLane<kDimension>> lanes_;
  std::vector<uint32_t> table_;
};

/* Runs a launch of one team on the CPU. */
inline void emulateAffine(uint32_t dimension, const AffineLaunch& launch) {
  const auto run = [&launch](auto constant) {
    EmulatedWarp<constant.value> team;
    scoreItems<constant.value>(team, launch);
  };
  switch (dimension) {
    case 32: return run(std::integral_constant<uint32_t, 32>{});
    case 64: return run(std::integral_constant<uint32_t, 64>{});
    case 96: return run(std::integral_constant<uint32_t, 96>{});
    case 128: return run(std::integral_constant<uint32_t, 128>{});
    case 160: return run(std::integral_constant<uint32_t, 160>{});
    case 192: return run(std::integral_constant<uint32_t, 192>{});
    case 224: return run(std::integral_constant<uint32_t, 224>{});
    case 256: return run(std::integral_constant<uint32_t, 256>{});
  }
}

}  // namespace cuda
}  // namespace gloaming

#endif
