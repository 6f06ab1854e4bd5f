/* Tests with machines that only the emulated driver has: GPUs of different memory, unusable GPUs, faults. */
#ifndef GLOAMING_TEST_CUDA_MACHINES_H
#define GLOAMING_TEST_CUDA_MACHINES_H

#include "test/cuda_case.h"

namespace gloaming {
namespace cuda {

/* Sets the emulated machine. Ends the process with a message at the first difference. */
void checkMachines(Pool& pool, Random& random, const Setting& setting);

}  // namespace cuda
}  // namespace gloaming

#endif
