/* One GPU: its memory, and launches that wait for their end. */
#ifndef GLOAMING_CUDA_GPU_H
#define GLOAMING_CUDA_GPU_H

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/host/driver.h"
#include "cuda/host/fair_mutex.h"
#include "cuda/shape.h"

namespace gloaming {
namespace cuda {

class Gpu;

/* Memory of a GPU; the destructor frees it. */
class GpuMemory {
 public:
  GpuMemory() = default;
  GpuMemory(Gpu& gpu, size_t bytes);
  /* Scratch memory of one search. The GPU retains it for the next, because the driver may take longer than the
   * search. */
  static GpuMemory scratch(Gpu& gpu, size_t bytes);
  GpuMemory(GpuMemory&& other) noexcept { *this = std::move(other); }
  GpuMemory& operator=(GpuMemory&& other) noexcept;
  ~GpuMemory();

  uint64_t address() const { return address_; }
  template <class Value>
  Value* as() const {
    return reinterpret_cast<Value*>(address_);
  }

 private:
  Gpu* gpu_ = nullptr;
  uint64_t address_ = 0;
  /** Size of a scratch allocation; 0 for memory that is returned to the driver. */
  size_t scratchBytes_ = 0;
};

class Gpu {
 public:
  struct Facts {
    std::string name;
    int major, minor;
    uint32_t multiprocessors, sharedBytes;
    uint64_t totalBytes;
    Variant variant;
  };

  /* Errors  CudaError if the device cannot be used or is older than compute capability 8.0 */
  Gpu(const Driver& driver, int ordinal, const void* image, bool isPortable);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const { return driver_; }
  const Facts& facts() const { return facts_; }
  int ordinal() const { return ordinal_; }

  /* Makes this GPU's context current on the calling thread, which all functions below require.
   * Errors  CudaError */
  void enter() const;
  uint64_t freeBytes() const;
  /* Bytes of scratch memory of running searches, which they return at their end. */
  uint64_t lentBytes() const { return lentBytes_; }
  /* Returns before the copy has ended if the host's memory is pinned. */
  void copyIn(const GpuMemory& to, size_t offset, const void* from, size_t bytes);
  void copyOut(void* to, uint64_t from, size_t bytes);
  void fill(const GpuMemory& memory, uint32_t word, size_t words);
  void launch(const std::string& kernel, uint32_t blocks, uint32_t threads, uint32_t sharedBytes,
              std::vector<void*> parameters);
  /* Waits for all of the above.
   * Errors  CudaError; the GPU counts as lost if the error ended the context, as a kernel's fault does */
  void wait();
  bool isLost() const { return isLost_; }
  /* Returns memory that no search uses to the driver. */
  void trim();
  void* stream() const { return stream_; }

  /** Held during a query of a search, or while a piece of a release is loaded. */
  FairMutex mutex;

 private:
  friend class GpuMemory;
  void open(const void* image);
  /* Enters the context without exceptions. Returns false on failure. */
  bool tryEnter() const;
  void check(int status, const std::string& what) const;
  uint64_t takeScratch(size_t bytes);
  void keepScratch(uint64_t address, size_t bytes);

  const Driver& driver_;
  const int ordinal_;
  int device_ = 0;
  Facts facts_{};
  void* context_ = nullptr;
  void* stream_ = nullptr;
  void* module_ = nullptr;
  std::map<std::string, void*> functions_;
  std::mutex scratchMutex_;
  /** Scratch memory of finished searches, by size. */
  std::multimap<size_t, uint64_t> scratch_;
  size_t scratchBytes_ = 0;
  std::atomic<uint64_t> lentBytes_{0};
  mutable std::atomic<bool> isLost_{false};
};

}  // namespace cuda
}  // namespace gloaming

#endif
