/* Instructions of compute capability 9.0, one function each. The asynchronous ones are "volatile" with a memory
 * clobber, so that the compiler does not reorder them. */
#ifndef GLOAMING_CUDA_WGMMA_H
#define GLOAMING_CUDA_WGMMA_H

#include "cuda/layout.h"

namespace gloaming {
namespace cuda {

GLOAMING_TEAM uint32_t sharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/** Orders this thread's ordinary writes to shared memory before reads of the copy engine and the tensor cores. */
GLOAMING_TEAM void fenceProxyAsync() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

GLOAMING_TEAM void multiplyFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

#define GLOAMING_EIGHT(MODE, D, I) \
  MODE(D[I]), MODE(D[I + 1]), MODE(D[I + 2]), MODE(D[I + 3]), MODE(D[I + 4]), MODE(D[I + 5]), MODE(D[I + 6]), \
      MODE(D[I + 7])
#define GLOAMING_THIRTY_TWO(MODE, D) \
  GLOAMING_EIGHT(MODE, D, 0), GLOAMING_EIGHT(MODE, D, 8), GLOAMING_EIGHT(MODE, D, 16), GLOAMING_EIGHT(MODE, D, 24)
#define GLOAMING_WRITTEN(X) "=r"(X)
#define GLOAMING_UPDATED(X) "+r"(X)
#define GLOAMING_MULTIPLY(ADDS) \
  "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, " \
  "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, " \
  "%36, " ADDS ";"

/* dots = rows × query, or dots += rows × query: 16 target rows of the warp, 64 query rows, 32 bytes of each row. The
 * results are valid after multiplyWait. */
template <bool kAdds>
GLOAMING_TEAM void multiplyStep(uint32_t (&dots)[32], const uint32_t* rows, Descriptor query) {
  if (kAdds) {
    asm volatile(GLOAMING_MULTIPLY("1")
                 : GLOAMING_THIRTY_TWO(GLOAMING_UPDATED, dots)
                 : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "l"(query.bits)
                 : "memory");
  } else {
    asm volatile(GLOAMING_MULTIPLY("0")
                 : GLOAMING_THIRTY_TWO(GLOAMING_WRITTEN, dots)
                 : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "l"(query.bits)
                 : "memory");
  }
}

/** Makes a group of the products since the last one. */
GLOAMING_TEAM void multiplyCommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/* Waits until at most kPending later groups are unfinished. The results are operands, so that the compiler cannot read
 * one of them earlier. */
template <uint32_t kPending>
GLOAMING_TEAM void multiplyWait(uint32_t (&dots)[32]) {
  asm volatile("wgmma.wait_group.sync.aligned %32;"
               : GLOAMING_THIRTY_TWO(GLOAMING_UPDATED, dots)
               : "n"(kPending)
               : "memory");
}

}  // namespace cuda
}  // namespace gloaming

#endif
