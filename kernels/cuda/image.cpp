#include "cuda/image.h"

#if defined(GLOAMING_CUDA_IMAGE)
// The assembler takes the file in as it is; a C array of it would take the compiler minutes.
asm(".pushsection .rodata\n"
    ".balign 64\n"
    "gloaming_cuda_image:\n"
    ".incbin \"" GLOAMING_CUDA_IMAGE "\"\n"
    ".balign 64\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) const unsigned char gloaming_cuda_image[];
#endif

namespace gloaming {
namespace cuda {

const void* cudaImage() {
#if defined(GLOAMING_CUDA_IMAGE)
  return gloaming_cuda_image;
#else
  return nullptr;
#endif
}

}  // namespace cuda
}  // namespace gloaming
