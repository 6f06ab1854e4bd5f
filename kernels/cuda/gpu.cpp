#include "cuda/gpu.h"

#include <utility>

namespace gloaming {
namespace cuda {

GpuMemory::GpuMemory(Gpu& gpu, size_t bytes) : gpu_(&gpu) {
  gpu.enter();
  const std::string what = "GPU " + std::to_string(gpu.ordinal()) + " has no " + std::to_string(bytes >> 20) + " MiB";
  // An allocation of nothing is an error of the driver's.
  check(gpu.driver(), gpu.driver().allocate(&address_, bytes > 0 ? bytes : 16), what.c_str());
}

GpuMemory& GpuMemory::operator=(GpuMemory&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(address_, other.address_);
  return *this;
}

GpuMemory::~GpuMemory() {
  if (address_ == 0) return;
  // A lost device has nothing to give back; there is nobody to tell.
  gpu_->enter();
  gpu_->driver().free(address_);
}

Gpu::Gpu(const Driver& driver, int ordinal, const void* image, bool isPortable)
    : driver_(driver), ordinal_(ordinal) {
  check(driver_, driver_.device(&device_, ordinal), "a GPU cannot be opened");
  char name[256] = "";
  check(driver_, driver_.deviceName(name, sizeof name, device_), "a GPU has no name");
  const auto attributeOf = [this](int which) {
    int value = 0;
    check(driver_, driver_.deviceAttribute(&value, which, device_), "a GPU does not tell of itself");
    return value;
  };
  facts_.name = name;
  facts_.major = attributeOf(attribute::kMajor);
  facts_.minor = attributeOf(attribute::kMinor);
  facts_.multiprocessors = static_cast<uint32_t>(attributeOf(attribute::kMultiprocessors));
  facts_.sharedBytes = static_cast<uint32_t>(attributeOf(attribute::kSharedBytes));
  // wgmma was made for 9.0 and is in no later architecture.
  facts_.variant = facts_.major == 9 && !isPortable ? Variant::kHopper : Variant::kPortable;
  if (facts_.major < 8) {
    throw CudaError(facts_.name + " has compute capability " + std::to_string(facts_.major) + "." +
                    std::to_string(facts_.minor) + ", 8.0 is needed");
  }
  try {
    open(image);
  } catch (...) {
    if (context_ != nullptr) driver_.releaseContext(device_);
    throw;
  }
}

void Gpu::open(const void* image) {
  const std::string where = facts_.name + ": ";
  check(driver_, driver_.retainContext(&context_, device_), (where + "no context").c_str());
  enter();
  size_t free = 0, total = 0;
  check(driver_, driver_.memoryInfo(&free, &total), (where + "its memory is unknown").c_str());
  facts_.totalBytes = total;
  check(driver_, driver_.loadModule(&module_, image), (where + "the driver takes no such kernels").c_str());
  // 1: does not wait for the stream that other users of the context may have.
  check(driver_, driver_.createStream(&stream_, 1), (where + "no stream").c_str());
}

Gpu::~Gpu() {
  driver_.setContext(context_);
  if (stream_ != nullptr) driver_.destroyStream(stream_);
  // The context of a lost device serves nobody any more; a new Gpu gets a new one.
  if (isLost_) driver_.resetContext(device_);
  driver_.releaseContext(device_);
}

void Gpu::enter() const { driver_.setContext(context_); }

uint64_t Gpu::freeBytes() const {
  size_t free = 0, total = 0;
  enter();
  check(driver_, driver_.memoryInfo(&free, &total), "a GPU's memory is unknown");
  return free;
}

void Gpu::copyIn(const GpuMemory& to, size_t offset, const void* from, size_t bytes) {
  if (bytes > 0) check(driver_, driver_.copyIn(to.address() + offset, from, bytes, stream_), "a copy to a GPU failed");
}

void Gpu::copyOut(void* to, uint64_t from, size_t bytes) {
  if (bytes > 0) check(driver_, driver_.copyOut(to, from, bytes, stream_), "a copy from a GPU failed");
}

void Gpu::fill(const GpuMemory& memory, uint32_t word, size_t words) {
  check(driver_, driver_.fill(memory.address(), word, words, stream_), "a GPU's memory cannot be filled");
}

void Gpu::launch(const std::string& kernel, uint32_t blocks, uint32_t threads, uint32_t sharedBytes,
                 std::vector<void*> parameters) {
  void*& function = functions_[kernel];
  if (function == nullptr) {
    check(driver_, driver_.function(&function, module_, kernel.c_str()), ("no kernel " + kernel).c_str());
  }
  check(driver_,
        driver_.setFunctionAttribute(function, attribute::kFunctionSharedBytes, static_cast<int>(sharedBytes)),
        "a kernel gets no shared memory");
  check(driver_,
        driver_.launch(function, blocks, 1, 1, threads, 1, 1, sharedBytes, stream_, parameters.data(), nullptr),
        ("the kernel " + kernel + " cannot be launched").c_str());
}

void Gpu::wait() {
  const int status = driver_.synchronize(stream_);
  if (status != 0) isLost_ = true;
  check(driver_, status, ("work on " + facts_.name + " failed").c_str());
}

}  // namespace cuda
}  // namespace gloaming
