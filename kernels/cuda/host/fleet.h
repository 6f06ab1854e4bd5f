/* All GPUs of the machine and the releases in their memory. A release is split over all GPUs by residues. The least
 * recently used release is evicted for a new one. */
#ifndef GLOAMING_CUDA_FLEET_H
#define GLOAMING_CUDA_FLEET_H

#include <atomic>
#include <list>
#include <memory>

#include "cuda/host/gpu.h"
#include "cuda/host/plan.h"
#include "engine/store.h"

namespace gloaming {
namespace cuda {

/** Targets firstTarget … endTarget − 1 on one GPU, numbered from 0 there. */
struct ReleasePart {
  Gpu* gpu;
  uint32_t firstTarget, endTarget;
  uint32_t dimension;
  uint64_t bytes;
  GpuMemory tokens, firstGroups, lengths;
  /** Plan of a sweep of all its targets. */
  std::unique_ptr<KeptPlan> plan = std::make_unique<KeptPlan>();
};

struct ResidentRelease {
  std::vector<ReleasePart> parts;
};

struct FleetOptions {
  /** Bytes that each GPU reserves for searches. */
  uint64_t workBytes = uint64_t{512} << 20;
  /** Excludes the Hopper kernel, so that both kernels can be compared on one GPU. */
  bool isPortable = false;
};

class Fleet {
 public:
  /* Opens all usable GPUs, at least one.
   * Errors   CudaError with the reason for each GPU if none is usable */
  Fleet(const Driver& driver, const void* image, FleetOptions options = {});

  /* Returns the release in GPU memory. If it is not resident, this loads it, and evicts unused releases. Null if
   * cancelled. The release stays resident while the result is held.
   * Errors  before any eviction or copy, DeviceMemoryError with the bytes missing, or DeviceBusyError if searches use
   *         that memory. It never waits for them, because it runs on a thread that they may need to end. CudaError */
  std::shared_ptr<const ResidentRelease> hold(const std::shared_ptr<const Store>& store,
                                              const std::atomic<bool>& cancelled);

  struct State {
    int ordinal;
    Gpu::Facts facts;
    uint64_t freeBytes;
    /** Releases of which a part lies on this GPU, and the bytes of these parts. */
    uint32_t residentCount;
    uint64_t residentBytes;
  };
  std::vector<State> state() const;
  /* Unusable GPUs of the machine, each with the reason: "GPU 1: Tesla V100 has compute capability 7.0 …". */
  std::vector<std::string> unusedGpus() const;
  int driverVersion() const;

 private:
  struct Resident {
    std::weak_ptr<const Store> store;
    std::shared_ptr<const ResidentRelease> release;
  };
  /** A range of targets planned for one GPU, and its free bytes. */
  struct Need {
    Gpu* gpu;
    uint64_t room;
    uint32_t firstTarget, endTarget;
    uint64_t groups;
    uint64_t bytes;
  };

  void openGpus();
  void revive();
  std::vector<Need> plan(const Store& store);
  std::vector<Need> cut(const Store& store, const std::vector<uint64_t>& rooms) const;
  std::vector<Need> split(const Store& store, const std::vector<uint64_t>& weights,
                          const std::vector<uint64_t>& rooms) const;
  static uint64_t missingBytes(const std::vector<Need>& needs);
  std::vector<uint64_t> roomOnEach(bool countsUsed) const;
  void makeRoom(const std::vector<Need>& needs);
  bool dropOldest();
  uint64_t residentBytes(const Gpu& gpu, bool countsUsed) const;
  [[noreturn]] void refuse(const std::vector<Need>& needs, const std::vector<uint64_t>& rooms) const;
  bool load(const Store& store, const Need& need, ReleasePart& part, const std::atomic<bool>& cancelled);
  std::shared_ptr<const ResidentRelease> find(const std::shared_ptr<const Store>& store);

  const Driver& driver_;
  const void* const image_;
  const FleetOptions options_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<std::string> unused_;
  /** Held while a release is loaded: one at a time. Searches of other releases continue. */
  std::mutex loading_;
  mutable std::mutex mutex_;
  /** Least recently used first. */
  std::list<Resident> residents_;
};

}  // namespace cuda
}  // namespace gloaming

#endif
