#include "cuda/host/image.h"

#if defined(GLOAMING_CUDA_IMAGE)
#include "cuda/embed.h"
GLOAMING_EMBED(gloaming_cuda_image, GLOAMING_CUDA_IMAGE);
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
