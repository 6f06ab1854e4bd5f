/* Affine searches on a fleet, held against those of the CPU, which kernels-equality holds against the reference. */
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
