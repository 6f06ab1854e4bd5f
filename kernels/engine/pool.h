/* The kernels' own threads. Jobs are split into chunks that threads take one by one. Several jobs may run at once, the
 * oldest first, each on at most the requested number of threads. A low-priority job yields its threads to foreground
 * jobs at the end of a chunk, and resumes when there are none. Nothing here runs on Node's event loop. */
#ifndef GLOAMING_POOL_H
#define GLOAMING_POOL_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/workspace.h"

namespace gloaming {

constexpr uint32_t kMaxThreads = 256;

enum class Priority { kNormal, kLow };

class Job {
 public:
  virtual ~Job() = default;
  /* Stops the job soon: running chunks check the flag, later chunks are skipped. */
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool isCancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 protected:
  /* Runs once, before all chunks, on a pool thread. Returns the number of chunks. */
  virtual uint64_t prepare() = 0;
  /* Chunks run in any order and at the same time. finish receives what prepare or a chunk throws. */
  virtual void run(uint64_t chunk, Workspace& workspace) = 0;
  /* Runs once, after the last chunk, also if the job was cancelled or failed. Must not throw. */
  virtual void finish(std::exception_ptr failure) = 0;

  /* Most threads that the job runs on. */
  uint32_t threadLimit() const { return threadLimit_; }

  std::atomic<bool> cancelled_{false};

 private:
  friend class Pool;
  // Guarded by the pool's mutex, except nextChunk_, which is atomic.
  uint32_t threadLimit_ = 1, threadCount_ = 0;
  Priority priority_ = Priority::kNormal;
  bool prepared_ = false;
  uint64_t chunkCount_ = 0;
  std::atomic<uint64_t> nextChunk_{0};
  std::exception_ptr failure_;
};

class Pool {
 public:
  Pool() = default;
  /* Waits for running jobs; cancels and finishes waiting jobs. */
  ~Pool();

  /* Range   threads 1..kMaxThreads; threads are started when first needed
   * Errors  std::system_error if no thread can be started; the job then never ran */
  void submit(std::shared_ptr<Job> job, uint32_t threads, Priority priority = Priority::kNormal);

 private:
  using Clock = std::chrono::steady_clock;

  void startThreads(uint32_t count);
  void serve();
  void work(Job& job, Workspace& workspace);
  std::shared_ptr<Job> take();
  std::shared_ptr<Job> take(Priority priority, bool onlyCancelled);
  static bool hasChunks(const Job& job);
  bool isShareDue() const;
  void pauseShare(Clock::duration pause);
  void fail(Job& job);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<std::shared_ptr<Job>> jobs_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
  /* Waiting and running jobs. While there are normal jobs, low-priority jobs have a small share of the time. */
  std::atomic<uint32_t> normalCount_{0}, lowCount_{0};
  /* Time of the next low-priority chunk beside normal jobs, in ticks of the steady clock. */
  std::atomic<int64_t> shareAt_{0};
};

/* Processors that this process may use. */
uint32_t availableProcessors();

}  // namespace gloaming

#endif
