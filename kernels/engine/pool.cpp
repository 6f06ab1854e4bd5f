#include "engine/pool.h"

#include <algorithm>
#include <system_error>

#if defined(__linux__)
#include <sched.h>
#endif

namespace gloaming {
namespace {

/** Bytes of each workspace slot that a thread retains between jobs. */
constexpr size_t kKeptBytes = size_t{4} << 20;
/** Low-priority jobs get 1 / this of all threads' time beside normal jobs, on one thread. */
constexpr int64_t kShareDivisor = 8;
constexpr std::chrono::milliseconds kLongestShare{50};

}  // namespace

Pool::~Pool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    for (const auto& job : jobs_) job->cancel();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Pool::submit(std::shared_ptr<Job> job, uint32_t threads, Priority priority) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    job->threadLimit_ = std::clamp(threads, 1u, kMaxThreads);
    job->priority_ = priority;
    startThreads(job->threadLimit_);
    ++(priority == Priority::kNormal ? normalCount_ : lowCount_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_all();
}

/* Called with the lock held. If the system grants fewer threads, the pool runs with those. */
void Pool::startThreads(uint32_t count) {
  try {
    while (threads_.size() < count) threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) throw;
  }
}

void Pool::serve() {
  Workspace workspace;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    const std::shared_ptr<Job> job = take();
    if (job == nullptr) {
      if (stopping_) return;
      wake_.wait(lock);
      continue;
    }
    lock.unlock();
    work(*job, workspace);
    workspace.shrink(kKeptBytes);
    lock.lock();
    // The job stays in the list until its last thread leaves it. After that no thread can start on it.
    if (--job->threadCount_ > 0 || hasChunks(*job)) continue;
    jobs_.remove(job);
    if (job->priority_ == Priority::kLow) --lowCount_;
    else if (--normalCount_ == 0) wake_.notify_all();
    const std::exception_ptr failure = job->failure_;
    lock.unlock();
    job->finish(failure);
    lock.lock();
  }
}

/* Returns the oldest job that can use one more thread, and counts the caller in; null if there is none. Beside
 * foreground jobs, low-priority jobs wait until their share is due, even if threads are idle. Only cancelled jobs may
 * end earlier. Called with the lock held. */
std::shared_ptr<Job> Pool::take() {
  const bool isShared = normalCount_ > 0;
  if (isShared && isShareDue()) {
    // One thread at a time. The pause applies even if the job has no chunk left.
    pauseShare(kLongestShare);
    if (std::shared_ptr<Job> job = take(Priority::kLow, false)) return job;
  }
  if (std::shared_ptr<Job> job = take(Priority::kNormal, false)) return job;
  return take(Priority::kLow, isShared);
}

std::shared_ptr<Job> Pool::take(Priority priority, bool onlyCancelled) {
  for (const std::shared_ptr<Job>& job : jobs_) {
    if (job->priority_ != priority || (onlyCancelled && !job->isCancelled())) continue;
    // A job without threads is new or has yielded. It may have been cancelled since, and must be finished.
    const bool isIdle = job->threadCount_ == 0;
    const bool hasWork = job->prepared_ && job->threadCount_ < job->threadLimit_ && hasChunks(*job);
    if (!isIdle && !hasWork) continue;
    ++job->threadCount_;
    return job;
  }
  return nullptr;
}

bool Pool::hasChunks(const Job& job) {
  return job.prepared_ && !job.isCancelled() && job.nextChunk_.load(std::memory_order_relaxed) < job.chunkCount_;
}

/* Grants low-priority jobs their share. An endless sequence of normal jobs must not starve them. */
bool Pool::isShareDue() const {
  return lowCount_.load(std::memory_order_relaxed) > 0 &&
         Clock::now().time_since_epoch().count() >= shareAt_.load(std::memory_order_relaxed);
}

void Pool::pauseShare(Clock::duration pause) {
  shareAt_.store((Clock::now() + pause).time_since_epoch().count(), std::memory_order_relaxed);
}

void Pool::work(Job& job, Workspace& workspace) {
  try {
    bool isFirst = false;
    int64_t threadCount = 1;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      isFirst = !job.prepared_;
      threadCount = static_cast<int64_t>(threads_.size());
    }
    if (isFirst && !job.isCancelled()) {
      const uint64_t count = job.prepare();
      const std::lock_guard<std::mutex> lock(mutex_);
      job.chunkCount_ = count;
      job.prepared_ = true;
    }
    if (isFirst) wake_.notify_all();
    while (!job.isCancelled()) {
      const uint64_t chunk = job.nextChunk_.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= job.chunkCount_) return;
      const auto startedAt = Clock::now();
      job.run(chunk, workspace);
      if (job.priority_ == Priority::kNormal) {
        if (isShareDue()) return;
      } else if (normalCount_.load(std::memory_order_relaxed) > 0) {
        // The pause makes the chunk 1 / kShareDivisor of the time of at most that many threads.
        const auto spent = Clock::now() - startedAt;
        pauseShare(std::max(Clock::duration::zero(), spent * kShareDivisor / threadCount - spent));
        return;
      }
    }
  } catch (...) {
    fail(job);
  }
}

void Pool::fail(Job& job) {
  job.cancel();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (job.failure_ == nullptr) job.failure_ = std::current_exception();
}

uint32_t availableProcessors() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::clamp(CPU_COUNT(&set), 1, int(kMaxThreads));
#endif
  return std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads);
}

}  // namespace gloaming
