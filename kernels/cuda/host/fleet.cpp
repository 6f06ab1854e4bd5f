#include "cuda/host/fleet.h"

#include <algorithm>
#include <cstring>

namespace gloaming {
namespace cuda {
namespace {

/** Bytes of a piece of packed tokens. Of two pinned buffers one is packed while the other is copied. */
constexpr size_t kPieceBytes = size_t{32} << 20;

/* Pinned memory, which the copy engine reads directly. */
class Pinned {
 public:
  Pinned(const Gpu& gpu, size_t bytes) : driver_(gpu.driver()) {
    check(driver_, driver_.allocateHost(&memory_, bytes, 0), "no pinned memory");
  }
  ~Pinned() { driver_.freeHost(memory_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  uint8_t* bytes() const { return static_cast<uint8_t*>(memory_); }

 private:
  const Driver& driver_;
  void* memory_ = nullptr;
};

std::string mebibytes(uint64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

}  // namespace

Fleet::Fleet(const Driver& driver, const void* image, FleetOptions options)
    : driver_(driver), image_(image), options_(options) {
  if (image == nullptr) throw CudaError("this build has no CUDA kernels: nvcc was not found when it was built");
  openGpus();
}

void Fleet::openGpus() {
  int count = 0;
  check(driver_, driver_.deviceCount(&count), "the NVIDIA driver does not count its GPUs");
  unused_.clear();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    try {
      gpus_.push_back(std::make_unique<Gpu>(driver_, ordinal, image_, options_.isPortable));
    } catch (const CudaError& error) {
      unused_.push_back("GPU " + std::to_string(ordinal) + ": " + error.what());
    }
  }
  if (!gpus_.empty()) return;
  std::string reasons;
  for (const std::string& reason : unused_) reasons += (reasons.empty() ? "" : "; ") + reason;
  throw CudaError(reasons.empty() ? "the NVIDIA driver finds no GPU" : reasons);
}

/* Reopens lost GPUs after a fault. It drops all releases with a part on a lost GPU, because the other parts are useless
 * alone. */
void Fleet::revive() {
  const auto isLost = [](const std::unique_ptr<Gpu>& gpu) { return gpu->isLost(); };
  const std::lock_guard<std::mutex> lock(mutex_);
  // The list is empty after an earlier attempt that failed.
  if (!gpus_.empty() && std::none_of(gpus_.begin(), gpus_.end(), isLost)) return;
  for (const Resident& resident : residents_) {
    if (resident.release.use_count() == 1) continue;
    throw DeviceBusyError("a GPU was lost, and searches on others must end first");
  }
  residents_.clear();
  gpus_.clear();
  openGpus();
}

std::shared_ptr<const ResidentRelease> Fleet::find(const std::shared_ptr<const Store>& store) {
  const std::lock_guard<std::mutex> lock(mutex_);
  residents_.remove_if([](const Resident& resident) { return resident.store.expired(); });
  const auto isWanted = [&store](const Resident& resident) { return resident.store.lock() == store; };
  const auto found = std::find_if(residents_.begin(), residents_.end(), isWanted);
  if (found == residents_.end()) return nullptr;
  const auto isLost = [](const ReleasePart& part) { return part.gpu->isLost(); };
  const auto& parts = found->release->parts;
  if (std::any_of(parts.begin(), parts.end(), isLost)) return nullptr;
  residents_.splice(residents_.end(), residents_, found);
  return found->release;
}

std::shared_ptr<const ResidentRelease> Fleet::hold(const std::shared_ptr<const Store>& store,
                                                   const std::atomic<bool>& cancelled) {
  // A resident release is returned without waiting for another release that is being loaded.
  if (auto found = find(store)) return found;
  const std::lock_guard<std::mutex> lock(loading_);
  revive();
  if (auto found = find(store)) return found;
  const std::vector<Need> needs = plan(*store);
  makeRoom(needs);
  auto release = std::make_shared<ResidentRelease>();
  for (const Need& need : needs) {
    release->parts.push_back({need.gpu, need.firstTarget, need.endTarget, store->dimension(), need.bytes, {}, {}, {}});
    if (!load(*store, need, release->parts.back(), cancelled)) return nullptr;
  }
  const std::lock_guard<std::mutex> listLock(mutex_);
  residents_.push_back({store, release});
  return release;
}

/* Plans the GPU of each part of a release. */
std::vector<Fleet::Need> Fleet::plan(const Store& store) {
  for (const auto& gpu : gpus_) gpu->trim();
  const std::vector<uint64_t> rooms = roomOnEach(false);
  std::vector<Need> needs = cut(store, rooms);
  if (missingBytes(needs) == 0) return needs;
  // Before any eviction: a release that fits nowhere must not evict another one.
  if (missingBytes(cut(store, roomOnEach(true))) > 0) refuse(needs, rooms);
  throw DeviceBusyError("other searches use the GPU memory that this one needs; try again when they have ended");
}

/* Returns equal parts or, if one of them exceeds its GPU, parts in proportion to the GPUs' free memory. */
std::vector<Fleet::Need> Fleet::cut(const Store& store, const std::vector<uint64_t>& rooms) const {
  std::vector<Need> needs = split(store, std::vector<uint64_t>(gpus_.size(), 1), rooms);
  if (missingBytes(needs) == 0) return needs;
  std::vector<uint64_t> groups;
  for (const uint64_t room : rooms) groups.push_back(room / groupBytes(store.dimension()));
  return split(store, groups, rooms);
}

/* Cuts the release into one range of targets for each GPU, with groups in proportion to the weights (groups at most,
 * so that no product overflows), none larger than the GPU's free bytes. The rest goes to the last GPU. */
std::vector<Fleet::Need> Fleet::split(const Store& store, const std::vector<uint64_t>& weights,
                                      const std::vector<uint64_t>& rooms) const {
  uint64_t total = 0, allWeights = 0, passed = 0, passedWeights = 0;
  for (uint32_t t = 0; t < store.targetCount(); ++t) total += groupsOf(store.length(t));
  for (const uint64_t weight : weights) allWeights += weight;
  std::vector<Need> needs;
  uint32_t t = 0;
  for (size_t i = 0; i < gpus_.size(); ++i) {
    const bool isLast = i + 1 == gpus_.size();
    passedWeights += weights[i];
    Need need{gpus_[i].get(), rooms[i], t, t, 0, 0};
    for (; t < store.targetCount() && (isLast || passed * allWeights < total * passedWeights); ++t) {
      const uint64_t groups = groupsOf(store.length(t)), bytes = groups * groupBytes(store.dimension()) + 8;
      if (!isLast && need.bytes + bytes > need.room) break;
      passed += groups;
      need.groups += groups;
      need.bytes += bytes;
    }
    need.endTarget = t;
    if (need.endTarget > need.firstTarget) needs.push_back(need);
  }
  return needs;
}

uint64_t Fleet::missingBytes(const std::vector<Need>& needs) {
  uint64_t missing = 0;
  for (const Need& need : needs) missing += need.bytes - std::min(need.bytes, need.room);
  return missing;
}

/* Bytes for a release on each GPU after eviction of all unused releases, or of all releases. */
std::vector<uint64_t> Fleet::roomOnEach(bool countsUsed) const {
  std::vector<uint64_t> rooms;
  for (const auto& gpu : gpus_) {
    // The memory reserved for searches includes that of running searches.
    const uint64_t bytes = gpu->freeBytes() + gpu->lentBytes() + residentBytes(*gpu, countsUsed);
    rooms.push_back(bytes - std::min(bytes, options_.workBytes));
  }
  return rooms;
}

void Fleet::makeRoom(const std::vector<Need>& needs) {
  for (const Need& need : needs) {
    while (need.gpu->freeBytes() + need.gpu->lentBytes() < need.bytes + options_.workBytes) {
      if (!dropOldest()) throw DeviceBusyError("a search or another program has just taken GPU memory; try again");
    }
  }
}

void Fleet::refuse(const std::vector<Need>& needs, const std::vector<uint64_t>& rooms) const {
  uint64_t needed = 0, room = 0;
  std::string places;
  for (size_t i = 0; i < gpus_.size(); ++i) {
    const Gpu& gpu = *gpus_[i];
    places += (i == 0 ? "GPU " : ", GPU ") + std::to_string(gpu.ordinal()) + " (" + gpu.facts().name +
              ") has room for " + mebibytes(rooms[i]) + " of " + mebibytes(gpu.facts().totalBytes);
    room += rooms[i];
  }
  for (const Need& need : needs) needed += need.bytes;
  // The total may suffice although no cut between proteins fits the GPUs.
  const uint64_t missing = std::max(needed - std::min(needed, room), missingBytes(needs));
  throw DeviceMemoryError("the release needs " + mebibytes(needed) + ", but " + places + ": " + mebibytes(missing) +
                          " are missing");
}

/* Bytes of a GPU that unused releases occupy, or all releases. */
uint64_t Fleet::residentBytes(const Gpu& gpu, bool countsUsed) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t bytes = 0;
  for (const Resident& resident : residents_) {
    if (resident.release.use_count() > 1 && !countsUsed) continue;
    for (const ReleasePart& part : resident.release->parts) bytes += part.gpu == &gpu ? part.bytes : 0;
  }
  return bytes;
}

/* Evicts the least recently used of the unused releases. Returns false if there is none. */
bool Fleet::dropOldest() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto isIdle = [](const Resident& resident) { return resident.release.use_count() == 1; };
  const auto found = std::find_if(residents_.begin(), residents_.end(), isIdle);
  if (found == residents_.end()) return false;
  residents_.erase(found);
  return true;
}

bool Fleet::load(const Store& store, const Need& need, ReleasePart& part, const std::atomic<bool>& cancelled) {
  Gpu& gpu = *part.gpu;
  const uint32_t dimension = store.dimension(), count = need.endTarget - need.firstTarget;
  part.tokens = GpuMemory(gpu, need.groups * groupBytes(dimension));
  part.firstGroups = GpuMemory(gpu, size_t{count} * 4);
  part.lengths = GpuMemory(gpu, size_t{count} * 4);

  // A target is never cut: the longest has 65,535 rows, at most 16 MiB.
  const Pinned buffers[2] = {Pinned(gpu, kPieceBytes), Pinned(gpu, kPieceBytes)};
  std::vector<uint32_t> firstGroups, lengths;
  uint64_t copied = 0, filled = 0;
  uint32_t group = 0, which = 0;
  const auto send = [&] {
    // Locked per piece, so that searches of other releases continue between two pieces.
    const std::lock_guard<FairMutex> lock(gpu.mutex);
    // The other buffer is free once the copy before this one has ended.
    gpu.wait();
    gpu.copyIn(part.tokens, copied, buffers[which].bytes(), filled);
    copied += filled;
    filled = 0;
    which ^= 1;
  };
  for (uint32_t t = need.firstTarget; t < need.endTarget; ++t) {
    const uint32_t length = store.length(t);
    const size_t bytes = size_t{groupsOf(length)} * groupBytes(dimension);
    if (filled + bytes > kPieceBytes) send();
    if (cancelled.load(std::memory_order_relaxed)) break;
    packTarget(store.rows(t), length, dimension, buffers[which].bytes() + filled);
    filled += bytes;
    firstGroups.push_back(group);
    lengths.push_back(length);
    group += groupsOf(length);
  }
  send();
  const std::lock_guard<FairMutex> lock(gpu.mutex);
  gpu.copyIn(part.firstGroups, 0, firstGroups.data(), firstGroups.size() * 4);
  gpu.copyIn(part.lengths, 0, lengths.data(), lengths.size() * 4);
  gpu.wait();
  return !cancelled.load(std::memory_order_relaxed);
}

std::vector<Fleet::State> Fleet::state() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<State> states;
  for (const auto& gpu : gpus_) {
    State state{gpu->ordinal(), gpu->facts(), gpu->freeBytes(), 0, 0};
    for (const Resident& resident : residents_) {
      for (const ReleasePart& part : resident.release->parts) {
        if (part.gpu != gpu.get()) continue;
        ++state.residentCount;
        state.residentBytes += part.bytes;
      }
    }
    states.push_back(state);
  }
  return states;
}

std::vector<std::string> Fleet::unusedGpus() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return unused_;
}

int Fleet::driverVersion() const {
  int version = 0;
  driver_.version(&version);
  return version;
}

}  // namespace cuda
}  // namespace gloaming
