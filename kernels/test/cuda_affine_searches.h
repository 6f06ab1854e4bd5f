/* Compares affine searches on a fleet with those on the CPU, which kernels-equality compares with the reference. */
#ifndef GLOAMING_TEST_CUDA_AFFINE_SEARCHES_H
#define GLOAMING_TEST_CUDA_AFFINE_SEARCHES_H

#include "test/cuda_case.h"

namespace gloaming {
namespace cuda {

/* Ends the process with a message at the first difference. */
void checkAffineSearches(Pool& pool, Fleet& fleet, Random& random, const Setting& setting);
/* Sets the emulated machine: launches of a giant pair, cancelled and not, and a fault. */
void checkAffineMachines(Pool& pool, Random& random, const Setting& setting);

}  // namespace cuda
}  // namespace gloaming

#endif
