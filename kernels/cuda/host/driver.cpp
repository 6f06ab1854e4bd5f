#include "cuda/host/driver.h"

#if defined(__linux__)
#include <dlfcn.h>
#endif

namespace gloaming {
namespace cuda {

#if defined(__linux__)
namespace {

template <class Function>
bool load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/* The suffixes are part of libcuda's binary interface and have stayed since CUDA 3.2 and 11. */
const char* loadAll(void* library, Driver& driver) {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!load(library, name, function)) missing = name;
  };
  need("cuInit", driver.initialize);
  need("cuDriverGetVersion", driver.version);
  need("cuGetErrorString", driver.errorText);
  need("cuDeviceGetCount", driver.deviceCount);
  need("cuDeviceGet", driver.device);
  need("cuDeviceGetName", driver.deviceName);
  need("cuDeviceGetAttribute", driver.deviceAttribute);
  need("cuDevicePrimaryCtxRetain", driver.retainContext);
  need("cuDevicePrimaryCtxRelease_v2", driver.releaseContext);
  need("cuDevicePrimaryCtxReset_v2", driver.resetContext);
  need("cuCtxSetCurrent", driver.setContext);
  need("cuMemGetInfo_v2", driver.memoryInfo);
  need("cuMemAlloc_v2", driver.allocate);
  need("cuMemFree_v2", driver.free);
  need("cuMemHostAlloc", driver.allocateHost);
  need("cuMemFreeHost", driver.freeHost);
  need("cuMemcpyHtoDAsync_v2", driver.copyIn);
  need("cuMemcpyDtoHAsync_v2", driver.copyOut);
  need("cuMemsetD32Async", driver.fill);
  need("cuStreamCreate", driver.createStream);
  need("cuStreamDestroy_v2", driver.destroyStream);
  need("cuStreamSynchronize", driver.synchronize);
  need("cuModuleLoadData", driver.loadModule);
  need("cuModuleGetFunction", driver.function);
  need("cuFuncSetAttribute", driver.setFunctionAttribute);
  need("cuLaunchKernel", driver.launch);
  return missing;
}

struct System {
  Driver driver{};
  std::string obstacle;

  System() {
    // Never closed: the driver's own threads run on.
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      obstacle = "no NVIDIA driver is installed (libcuda.so.1 was not found)";
    } else if (const char* missing = loadAll(library, driver)) {
      obstacle = std::string("the NVIDIA driver is too old: it has no ") + missing;
    } else if (const int status = driver.initialize(0)) {
      const char* text = nullptr;
      driver.errorText(status, &text);
      obstacle = std::string("the NVIDIA driver does not start: ") + (text != nullptr ? text : "unknown error");
    }
  }
};

}  // namespace

const Driver* systemDriver(std::string& obstacle) {
  static const System system;
  obstacle = system.obstacle;
  return obstacle.empty() ? &system.driver : nullptr;
}
#else
const Driver* systemDriver(std::string& obstacle) {
  obstacle = "CUDA devices are served on Linux only";
  return nullptr;
}
#endif

void check(const Driver& driver, int status, const char* what) {
  if (status == 0) return;
  const char* text = nullptr;
  driver.errorText(status, &text);
  const std::string message =
      std::string(what) + ": " + (text != nullptr ? text : "unknown error") + " (" + std::to_string(status) + ")";
  if (status == kOutOfMemory) throw DeviceMemoryError(message);
  throw CudaError(message);
}

}  // namespace cuda
}  // namespace gloaming
