/* Time, and statistics of many rounds, for the benches. */
#ifndef GLOAMING_TEST_CLOCK_H
#define GLOAMING_TEST_CLOCK_H

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

namespace gloaming {

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* Processor time of this process, which measures one core independently of other processes. */
inline double processorSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/* The fastest round, which neighbours on a shared machine disturbed least. */
inline double fastest(const std::vector<double>& seconds) { return *std::min_element(seconds.begin(), seconds.end()); }

}  // namespace gloaming

#endif
