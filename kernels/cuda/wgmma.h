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

GLOAMING_TEAM void barrierInit(uint32_t barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
/** The one arrival of a phase; the phase ends when these bytes have been written as well. */
GLOAMING_TEAM void barrierArrive(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
GLOAMING_TEAM void barrierWait(uint32_t barrier, uint32_t parity) {
  // The operands stay on one line.
  // clang-format off
  asm volatile(
      "{\n\t"
      ".reg .pred done;\n\t"
      "again:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra again;\n\t"
      "}" ::"r"(barrier), "r"(parity)
      : "memory");
  // clang-format on
}
/** Copies to shared memory without threads; bytes and addresses are multiples of 16. */
GLOAMING_TEAM void copyBulk(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
               : "memory");
}

GLOAMING_TEAM void multiplyFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

#define GLOAMING_EIGHT(MODE, D, I) \
  MODE(D[I]), MODE(D[I + 1]), MODE(D[I + 2]), MODE(D[I + 3]), MODE(D[I + 4]), MODE(D[I + 5]), MODE(D[I + 6]), \
      MODE(D[I + 7])
#define GLOAMING_THIRTY_TWO(MODE, D, I) \
  GLOAMING_EIGHT(MODE, D, I), GLOAMING_EIGHT(MODE, D, I + 8), GLOAMING_EIGHT(MODE, D, I + 16), \
      GLOAMING_EIGHT(MODE, D, I + 24)
#define GLOAMING_WRITTEN(X) "=r"(X)
#define GLOAMING_UPDATED(X) "+r"(X)
#define GLOAMING_NAMES_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define GLOAMING_NAMES_64 \
  GLOAMING_NAMES_32 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, " \
  "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

/* dots = A × B, or dots += A × B: 64 query rows, 8 target rows per four registers, 32 bytes of each row. The results
 * are valid after multiplyWait. */
template <bool kAdds>
GLOAMING_TEAM void multiplyStep(uint32_t (&dots)[32], Descriptor a, Descriptor b) {
  if (kAdds) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {" GLOAMING_NAMES_32 "}, %32, %33, 1;"
                 : GLOAMING_THIRTY_TWO(GLOAMING_UPDATED, dots, 0)
                 : "l"(a.bits), "l"(b.bits)
                 : "memory");
  } else {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {" GLOAMING_NAMES_32 "}, %32, %33, 0;"
                 : GLOAMING_THIRTY_TWO(GLOAMING_WRITTEN, dots, 0)
                 : "l"(a.bits), "l"(b.bits)
                 : "memory");
  }
}
template <bool kAdds>
GLOAMING_TEAM void multiplyStep(uint32_t (&dots)[64], Descriptor a, Descriptor b) {
  if (kAdds) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {" GLOAMING_NAMES_64 "}, %64, %65, 1;"
                 : GLOAMING_THIRTY_TWO(GLOAMING_UPDATED, dots, 0), GLOAMING_THIRTY_TWO(GLOAMING_UPDATED, dots, 32)
                 : "l"(a.bits), "l"(b.bits)
                 : "memory");
  } else {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {" GLOAMING_NAMES_64 "}, %64, %65, 0;"
                 : GLOAMING_THIRTY_TWO(GLOAMING_WRITTEN, dots, 0), GLOAMING_THIRTY_TWO(GLOAMING_WRITTEN, dots, 32)
                 : "l"(a.bits), "l"(b.bits)
                 : "memory");
  }
}

/* Waits for the results. They are operands, so that the compiler cannot read one of them earlier. */
GLOAMING_TEAM void multiplyWait(uint32_t (&dots)[32]) {
  asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;"
               : GLOAMING_THIRTY_TWO(GLOAMING_UPDATED, dots, 0)
               :
               : "memory");
}
GLOAMING_TEAM void multiplyWait(uint32_t (&dots)[64]) {
  asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;"
               : GLOAMING_THIRTY_TWO(GLOAMING_UPDATED, dots, 0), GLOAMING_THIRTY_TWO(GLOAMING_UPDATED, dots, 32)
               :
               : "memory");
}

}  // namespace cuda
}  // namespace gloaming

#endif
