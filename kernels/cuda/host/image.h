/* The compiled CUDA kernels. */
#ifndef GLOAMING_CUDA_IMAGE_H
#define GLOAMING_CUDA_IMAGE_H

namespace gloaming {
namespace cuda {

/** A fat binary for the driver's cuModuleLoadData; null if nvcc was not found when this was built. */
const void* cudaImage();

}  // namespace cuda
}  // namespace gloaming

#endif
