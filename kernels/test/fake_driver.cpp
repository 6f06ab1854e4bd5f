#include "test/fake_driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "cuda/select.h"
#include "test/emulated_team.h"
#include "test/emulated_warp.h"

namespace gloaming {
namespace cuda {
namespace {

constexpr uint32_t kMultiprocessors = 2;
constexpr uint32_t kPortableShared = 99u << 10, kHopperShared = 227u << 10;

FakeMachine machine;
std::mutex mutex;
thread_local size_t current = 0;
std::map<uint64_t, std::pair<size_t, size_t>> allocations;  // address to GPU and bytes
std::map<std::string, std::string> functionNames;

FakeGpu* gpuOf(void* context) { return machine.gpus.data() + (reinterpret_cast<size_t>(context) - 1); }

int attributeOf(int* value, int attribute, int device) {
  const FakeGpu& gpu = machine.gpus[static_cast<size_t>(device)];
  switch (attribute) {
    case attribute::kMajor: *value = gpu.major; return 0;
    case attribute::kMinor: *value = 0; return 0;
    case attribute::kMultiprocessors: *value = kMultiprocessors; return 0;
    case attribute::kSharedBytes: *value = gpu.major == 9 ? kHopperShared : kPortableShared; return 0;
  }
  return 1;
}

int allocate(uint64_t* address, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  FakeGpu& gpu = machine.gpus[current];
  if (gpu.usedBytes + bytes > gpu.memoryBytes) return kOutOfMemory;
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  // Noise, because fresh memory is undefined.
  std::memset(memory, 0xc3, bytes);
  *address = reinterpret_cast<uint64_t>(memory);
  gpu.usedBytes += bytes;
  allocations[*address] = {current, bytes};
  return 0;
}

int release(uint64_t address) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = allocations.find(address);
  if (found == allocations.end()) return 1;
  machine.gpus[found->second.first].usedBytes -= found->second.second;
  allocations.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return 0;
}

void runSelect(const std::string& name, void** parameters) {
  const auto& task = *static_cast<const SelectTask*>(parameters[0]);
  if (name == "select_keys") {
    for (uint32_t item = 0; item < task.itemCount; ++item) writeKey(task, item);
  } else if (name == "select_count") {
    const uint32_t digit = *static_cast<const uint32_t*>(parameters[1]);
    for (uint32_t item = 0; item < task.itemCount; ++item) {
      if (beginsLike(task.keys[item], task.state->prefix, digit)) ++task.histogram[digitOf(task.keys[item], digit)];
    }
  } else if (name == "select_pick") {
    *task.state = pickDigit(task.histogram, *task.state, *static_cast<const uint32_t*>(parameters[1]));
    std::memset(task.histogram, 0, kDigits * 4);
  } else {
    // Backwards, because the order in which threads claim their places is undefined.
    for (uint32_t item = task.itemCount; item-- > 0;) {
      if (task.keys[item] < task.state->prefix) continue;
      const uint32_t place = (*task.foundCount)++;
      if (place < task.foundRoom) task.found[place] = {item, task.queryToTarget[item], task.targetToQuery[item]};
    }
  }
}

int launch(void* function, unsigned, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned sharedBytes,
           void*, void** parameters, void**) {
  const std::string name = *static_cast<const std::string*>(function);
  if (machine.onLaunch) machine.onLaunch(name.c_str());
  if (name.rfind("select_", 0) == 0) {
    runSelect(name, parameters);
    return 0;
  }
  const auto dimension = static_cast<uint32_t>(std::stoul(name.substr(name.rfind('_') + 1)));
  if (name.rfind("affine_", 0) == 0) {
    if (threads != kWarpLanes || sharedBytes != kAffineShared) return 1;
    emulateAffine(dimension, *static_cast<const AffineLaunch*>(parameters[0]));
    return 0;
  }
  const bool isHopper = name.rfind("maxsim_hopper_", 0) == 0;
  const auto& task = *static_cast<const SweepTask*>(parameters[0]);
  const Variant variant = isHopper ? Variant::kHopper : Variant::kPortable;
  // A real driver rejects more shared memory than exists, and a kernel compiled for other sizes.
  if (sharedBytes > (machine.gpus[current].major == 9 ? kHopperShared : kPortableShared)) return 1;
  if (threads != shapeOf(variant, dimension).threads()) return 1;
  if (sharedBytes != panelBytes(variant, dimension, task.queryTiles)) return 1;
  if (isHopper) emulateSweep<Variant::kHopper>(dimension, task);
  else emulateSweep<Variant::kPortable>(dimension, task);
  return 0;
}

Driver makeDriver() {
  Driver driver{};
  driver.initialize = [](unsigned) { return 0; };
  driver.version = [](int* version) { return *version = 13'000, 0; };
  driver.errorText = [](int status, const char** text) {
    *text = status == kOutOfMemory ? "out of memory" : "an illegal memory access was encountered";
    return 0;
  };
  driver.deviceCount = [](int* count) { return *count = static_cast<int>(machine.gpus.size()), 0; };
  driver.device = [](int* device, int ordinal) { return *device = ordinal, 0; };
  driver.deviceName = [](char* name, int room, int device) {
    std::snprintf(name, static_cast<size_t>(room), "Emulated %d", machine.gpus[static_cast<size_t>(device)].major);
    return 0;
  };
  driver.deviceAttribute = attributeOf;
  driver.retainContext = [](void** context, int device) {
    return *context = reinterpret_cast<void*>(static_cast<size_t>(device) + 1), 0;
  };
  driver.releaseContext = [](int) { return 0; };
  driver.resetContext = [](int) { return 0; };
  driver.setContext = [](void* context) {
    current = static_cast<size_t>(gpuOf(context) - machine.gpus.data());
    return 0;
  };
  driver.memoryInfo = [](size_t* free, size_t* total) {
    const std::lock_guard<std::mutex> lock(mutex);
    *total = machine.gpus[current].memoryBytes;
    *free = *total - machine.gpus[current].usedBytes;
    return 0;
  };
  driver.allocate = allocate;
  driver.free = release;
  driver.allocateHost = [](void** memory, size_t bytes, unsigned) { return *memory = std::malloc(bytes), 0; };
  driver.freeHost = [](void* memory) { return std::free(memory), 0; };
  driver.copyIn = [](uint64_t to, const void* from, size_t bytes, void*) {
    return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
  };
  driver.copyOut = [](void* to, uint64_t from, size_t bytes, void*) {
    return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), 0;
  };
  driver.fill = [](uint64_t to, unsigned word, size_t words, void*) {
    for (size_t k = 0; k < words; ++k) reinterpret_cast<uint32_t*>(to)[k] = word;
    return 0;
  };
  driver.createStream = [](void** stream, unsigned) { return *stream = &machine, 0; };
  driver.destroyStream = [](void*) { return 0; };
  driver.synchronize = [](void*) { return machine.nextWait.exchange(0); };
  driver.loadModule = [](void** module, const void* image) { return *module = const_cast<void*>(image), 0; };
  driver.function = [](void** function, void*, const char* name) {
    const std::lock_guard<std::mutex> lock(mutex);
    *function = &functionNames.try_emplace(name, name).first->second;
    return 0;
  };
  driver.setFunctionAttribute = [](void*, int, int) { return 0; };
  driver.launch = launch;
  return driver;
}

}  // namespace

FakeMachine& fakeMachine() { return machine; }
const Driver& fakeDriver() {
  static const Driver driver = makeDriver();
  return driver;
}
const void* fakeImage() { return &machine; }

}  // namespace cuda
}  // namespace gloaming
