/* The functions of amx/tiles.h in plain C++, by the processor's manual, and a table of kernels with them. Tests compare
 * this table with the reference on machines without AMX. */
#ifndef GLOAMING_TEST_EMULATED_TILES_H
#define GLOAMING_TEST_EMULATED_TILES_H

#include "kernels.h"

namespace gloaming {

#if defined(GLOAMING_HAS_AMX)
/** Needs AVX-512 VNNI. */
extern const Kernels emulatedAmxKernels;
#endif

}  // namespace gloaming

#endif
