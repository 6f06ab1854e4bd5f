#include "cuda/host/gpu.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gloaming {
namespace cuda {
namespace {

/** Bytes of scratch memory that a GPU retains for later searches: half of what a fleet reserves for them. */
constexpr size_t kScratchBytes = size_t{256} << 20;

/* Whether this error ends the context. Numbers of cuda.h: invalid context, errors of memory and links, contained errors
 * (226), and errors from 700 on. Launches with too large sizes (701) and repeated requests (704, 705, 708, 712, 713)
 * leave the context usable. */
bool endsContext(int status) {
  constexpr int kHarmless[] = {701, 704, 705, 708, 712, 713};
  if (status < 700) return status == 201 || status == 214 || status == 220 || status == 226;
  return std::find(std::begin(kHarmless), std::end(kHarmless), status) == std::end(kHarmless);
}

/* 12.4 of 12040. */
std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

GpuMemory::GpuMemory(Gpu& gpu, size_t bytes) : gpu_(&gpu) {
  gpu.enter();
  const std::string what = "GPU " + std::to_string(gpu.ordinal()) + " has no " + std::to_string(bytes >> 20) + " MiB";
  // The driver rejects an allocation of 0 bytes.
  if (bytes == 0) bytes = 16;
  int status = gpu.driver().allocate(&address_, bytes);
  if (status == kOutOfMemory) {
    gpu.trim();
    status = gpu.driver().allocate(&address_, bytes);
  }
  gpu.check(status, what);
}

GpuMemory GpuMemory::scratch(Gpu& gpu, size_t bytes) {
  // Powers of two, so that searches of similar size reuse each other's memory.
  size_t room = size_t{64} << 10;
  while (room < bytes) room *= 2;
  const uint64_t kept = gpu.takeScratch(room);
  GpuMemory memory;
  if (kept != 0) {
    memory.gpu_ = &gpu;
    memory.address_ = kept;
  } else {
    memory = GpuMemory(gpu, room);
  }
  memory.scratchBytes_ = room;
  gpu.lentBytes_ += room;
  return memory;
}

GpuMemory& GpuMemory::operator=(GpuMemory&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(address_, other.address_);
  std::swap(scratchBytes_, other.scratchBytes_);
  return *this;
}

GpuMemory::~GpuMemory() {
  if (address_ == 0) return;
  if (scratchBytes_ != 0) {
    gpu_->keepScratch(address_, scratchBytes_);
    return;
  }
  // A lost device has nothing to free, and a destructor cannot report an error.
  if (gpu_->tryEnter()) gpu_->driver().free(address_);
}

Gpu::Gpu(const Driver& driver, int ordinal, const void* image, bool isPortable) : driver_(driver), ordinal_(ordinal) {
  check(driver_.device(&device_, ordinal), "a GPU cannot be opened");
  char name[256] = "";
  check(driver_.deviceName(name, sizeof name, device_), "a GPU has no name");
  const auto attributeOf = [this](int which) {
    int value = 0;
    check(driver_.deviceAttribute(&value, which, device_), "a GPU does not report an attribute");
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
  check(driver_.retainContext(&context_, device_), where + "no context");
  enter();
  size_t free = 0, total = 0;
  check(driver_.memoryInfo(&free, &total), where + "its memory is unknown");
  facts_.totalBytes = total;
  // A driver reads the machine code of its own CUDA version and of older ones.
  int version = 0;
  driver_.version(&version);
  check(driver_.loadModule(&module_, image), where + "its driver, for CUDA " + versionText(version) +
                                                 ", does not take the kernels of this build; update the driver, or "
                                                 "build with an nvcc of that version");
  // Flag 1: the stream does not wait for the context's default stream.
  check(driver_.createStream(&stream_, 1), where + "no stream");
}

Gpu::~Gpu() {
  trim();
  if (stream_ != nullptr) driver_.destroyStream(stream_);
  // The context of a lost device is unusable; a new Gpu creates a new one.
  if (isLost_) driver_.resetContext(device_);
  driver_.releaseContext(device_);
}

/* Throws on failure: without the switch, allocations would go to another GPU. */
void Gpu::enter() const { check(driver_.setContext(context_), facts_.name + " cannot be used"); }

bool Gpu::tryEnter() const { return driver_.setContext(context_) == 0; }

uint64_t Gpu::freeBytes() const {
  size_t free = 0, total = 0;
  enter();
  check(driver_.memoryInfo(&free, &total), "a GPU's memory is unknown");
  return free;
}

void Gpu::trim() {
  const std::lock_guard<std::mutex> lock(scratchMutex_);
  const bool isEntered = tryEnter();
  for (const auto& [bytes, address] : scratch_) {
    if (isEntered) driver_.free(address);
  }
  scratch_.clear();
  scratchBytes_ = 0;
}

/* Returns  0 if there is none of this size */
uint64_t Gpu::takeScratch(size_t bytes) {
  const std::lock_guard<std::mutex> lock(scratchMutex_);
  const auto found = scratch_.find(bytes);
  if (found == scratch_.end()) return 0;
  const uint64_t address = found->second;
  scratch_.erase(found);
  scratchBytes_ -= bytes;
  return address;
}

void Gpu::keepScratch(uint64_t address, size_t bytes) {
  lentBytes_ -= bytes;
  const std::lock_guard<std::mutex> lock(scratchMutex_);
  if (scratchBytes_ + bytes > kScratchBytes) {
    if (tryEnter()) driver_.free(address);
    return;
  }
  scratch_.insert({bytes, address});
  scratchBytes_ += bytes;
}

void Gpu::copyIn(const GpuMemory& to, size_t offset, const void* from, size_t bytes) {
  if (bytes > 0) check(driver_.copyIn(to.address() + offset, from, bytes, stream_), "a copy to a GPU failed");
}

void Gpu::copyOut(void* to, uint64_t from, size_t bytes) {
  if (bytes > 0) check(driver_.copyOut(to, from, bytes, stream_), "a copy from a GPU failed");
}

void Gpu::fill(const GpuMemory& memory, uint32_t word, size_t words) {
  check(driver_.fill(memory.address(), word, words, stream_), "a GPU's memory cannot be filled");
}

void Gpu::launch(const std::string& kernel, uint32_t blocks, uint32_t threads, uint32_t sharedBytes,
                 std::vector<void*> parameters) {
  void*& function = functions_[kernel];
  if (function == nullptr) check(driver_.function(&function, module_, kernel.c_str()), "no kernel " + kernel);
  check(driver_.setFunctionAttribute(function, attribute::kFunctionSharedBytes, static_cast<int>(sharedBytes)),
        "a kernel gets no shared memory");
  check(driver_.launch(function, blocks, 1, 1, threads, 1, 1, sharedBytes, stream_, parameters.data(), nullptr),
        "the kernel " + kernel + " cannot be launched");
}

void Gpu::wait() { check(driver_.synchronize(stream_), "work on " + facts_.name + " failed"); }

/* Checks a status, which may be the fault of an earlier asynchronous call. */
void Gpu::check(int status, const std::string& what) const {
  if (endsContext(status)) isLost_ = true;
  cuda::check(driver_, status, what.c_str());
}

}  // namespace cuda
}  // namespace gloaming
