/* The kernels' own threads. Jobs are split into chunks that threads take one by one; several jobs may run at once, the
 * oldest first, each on as many threads as it asked for. A background job gives its threads up to others at the end of
 * the chunk that runs, and goes on when there are none. Nothing here runs on Node's event loop. */
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

enum class Priority { kForeground, kBackground };

class Job {
 public:
  virtual ~Job() = default;
  /* Stops the job soon: chunks that run look at the flag, chunks that have not started are skipped. */
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool isCancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 protected:
  /* Once, before all chunks, on a pool thread; returns how many chunks there are. */
  virtual uint64_t prepare() = 0;
  /* Chunks run in any order and at the same time. What prepare or a chunk throws reaches finish. */
  virtual void run(uint64_t chunk, Workspace& workspace) = 0;
  /* Once, after the last chunk has ended, also if the job was cancelled or failed. Must not throw. */
  virtual void finish(std::exception_ptr failure) = 0;

  /* On how many threads at most the job runs. */
  uint32_t threadLimit() const { return threadLimit_; }

  std::atomic<bool> cancelled_{false};

 private:
  friend class Pool;
  // Guarded by the pool's mutex, but for nextChunk_, which threads take chunks from.
  uint32_t threadLimit_ = 1, threadCount_ = 0;
  Priority priority_ = Priority::kForeground;
  bool prepared_ = false;
  uint64_t chunkCount_ = 0;
  std::atomic<uint64_t> nextChunk_{0};
  std::exception_ptr failure_;
};

class Pool {
 public:
  Pool() = default;
  /* Waits for the jobs that run; jobs that wait are cancelled and finished. */
  ~Pool();

  /* Range   threads 1..kMaxThreads; threads are started when first needed
   * Errors  std::system_error if not even one can be started; the job then never ran */
  void submit(std::shared_ptr<Job> job, uint32_t threads, Priority priority = Priority::kForeground);

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
  /* Jobs that wait or run. While there are foreground jobs, background jobs have a small share of the time. */
  std::atomic<uint32_t> foregroundCount_{0}, backgroundCount_{0};
  /* When a background job gets its next chunk beside foreground jobs: a time of the steady clock, in its ticks. */
  std::atomic<int64_t> shareAt_{0};
};

/* Processors that this process may use. */
uint32_t availableProcessors();

}  // namespace gloaming

#endif
