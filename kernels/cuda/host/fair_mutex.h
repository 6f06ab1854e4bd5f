/* FIFO mutex. std::mutex lets the releasing thread acquire it again at once (barging), which starves waiters. This
 * mutex goes to the longest waiter. */
#ifndef GLOAMING_CUDA_FAIR_MUTEX_H
#define GLOAMING_CUDA_FAIR_MUTEX_H

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace gloaming {
namespace cuda {

class FairMutex {
 public:
  void lock() {
    std::unique_lock<std::mutex> own(mutex_);
    const uint64_t ticket = tickets_++;
    wake_.wait(own, [&] { return ticket == served_; });
  }
  void unlock() {
    const std::lock_guard<std::mutex> own(mutex_);
    ++served_;
    wake_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  uint64_t tickets_ = 0, served_ = 0;
};

}  // namespace cuda
}  // namespace gloaming

#endif
