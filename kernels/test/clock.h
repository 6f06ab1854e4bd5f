/* Time, and what many rounds say of it, for the benches. */
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

/* Processor time of this process: what one core does is measured by it, so that other processes do not count. */
inline double processorSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/* The fastest round: what the machine does while its neighbours leave it alone. */
inline double fastest(const std::vector<double>& seconds) { return *std::min_element(seconds.begin(), seconds.end()); }

}  // namespace gloaming

#endif
