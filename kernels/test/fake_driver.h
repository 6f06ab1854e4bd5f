/* A stub of the CUDA driver: device memory is host memory with a limit, and a launch runs the kernel's body on emulated
 * lanes. It has the interface of libcuda, so that the whole host side of kernels/cuda/ is tested without a GPU. */
#ifndef GLOAMING_TEST_FAKE_DRIVER_H
#define GLOAMING_TEST_FAKE_DRIVER_H

#include <atomic>
#include <functional>
#include <vector>

#include "cuda/host/driver.h"

namespace gloaming {
namespace cuda {

struct FakeGpu {
  int major = 9;
  size_t memoryBytes = size_t{64} << 20;
  size_t usedBytes = 0;
};

/** The GPUs of the machine; set before a fleet is made. */
struct FakeMachine {
  std::vector<FakeGpu> gpus;
  /** Called before every launch, with the kernel's name. */
  std::function<void(const char*)> onLaunch;
  /** Status that the next wait returns, once; 700 is an illegal address. */
  std::atomic<int> nextWait{0};
};

FakeMachine& fakeMachine();
const Driver& fakeDriver();
/** Stub of the compiled kernels. */
const void* fakeImage();

}  // namespace cuda
}  // namespace gloaming

#endif
