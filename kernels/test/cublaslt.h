/* The rate of cuBLASLt on this GPU: an int8 product of large squares, the peer of the kernels. The library is opened at
 * run time; without it the bench omits this figure. */
#ifndef GLOAMING_TEST_CUBLASLT_H
#define GLOAMING_TEST_CUBLASLT_H

#include <dlfcn.h>

#include "cuda/host/gpu.h"
#include "test/clock.h"

namespace gloaming {
namespace cuda {

/* Functions of cublasLt.h with the numbers of its stable interface. */
struct CublasLt {
  int (*create)(void** handle);
  int (*descriptorCreate)(void** descriptor, int compute, int scale);
  int (*descriptorSet)(void* descriptor, int attribute, const void* value, size_t bytes);
  int (*layoutCreate)(void** layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
  int (*matmul)(void* handle, void* descriptor, const void* alpha, const void* a, void* layoutA, const void* b,
                void* layoutB, const void* beta, const void* c, void* layoutC, void* d, void* layoutD,
                const void* algorithm, void* workspace, size_t workspaceBytes, void* stream);
};

inline bool openCublasLt(CublasLt& lt) {
  void* library = nullptr;
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW);
  }
  if (library == nullptr) return false;
  const auto load = [library](const char* name, auto& function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  return load("cublasLtCreate", lt.create) && load("cublasLtMatmulDescCreate", lt.descriptorCreate) &&
         load("cublasLtMatmulDescSetAttribute", lt.descriptorSet) &&
         load("cublasLtMatrixLayoutCreate", lt.layoutCreate) && load("cublasLtMatmul", lt.matmul);
}

/* Operations a second (a multiply-add is two) of an int8 product of squares with random values; 0 without cuBLASLt. */
inline double cublasLtRate(Gpu& gpu, const std::vector<int8_t>& random) {
  constexpr int kInt8 = 3, kInt32 = 10, kComputeInt32 = 72, kTransposeA = 3, kTransposed = 1;
  constexpr uint64_t kSide = 8'192;
  constexpr size_t kWorkspace = size_t{32} << 20;
  CublasLt lt{};
  void *handle = nullptr, *descriptor = nullptr, *in = nullptr, *out = nullptr;
  if (random.size() < kSide * kSide || !openCublasLt(lt)) return 0;
  if (lt.create(&handle) != 0 || lt.descriptorCreate(&descriptor, kComputeInt32, kInt32) != 0) return 0;
  if (lt.descriptorSet(descriptor, kTransposeA, &kTransposed, sizeof kTransposed) != 0) return 0;
  if (lt.layoutCreate(&in, kInt8, kSide, kSide, kSide) != 0) return 0;
  if (lt.layoutCreate(&out, kInt32, kSide, kSide, kSide) != 0) return 0;
  const GpuMemory a(gpu, kSide * kSide), b(gpu, kSide * kSide), d(gpu, kSide * kSide * 4), workspace(gpu, kWorkspace);
  gpu.copyIn(a, 0, random.data(), kSide * kSide);
  gpu.copyIn(b, 0, random.data() + random.size() - kSide * kSide, kSide * kSide);
  gpu.wait();
  const int32_t one = 1, zero = 0;
  std::vector<double> rates;
  for (int round = 0; round < 20; ++round) {
    const double start = seconds();
    for (int repeat = 0; repeat < 10; ++repeat) {
      const int status = lt.matmul(handle, descriptor, &one, a.as<void>(), in, b.as<void>(), in, &zero, d.as<void>(),
                                   out, d.as<void>(), out, nullptr, workspace.as<void>(), kWorkspace, gpu.stream());
      if (status != 0) return 0;
    }
    gpu.wait();
    rates.push_back(10 * 2.0 * kSide * kSide * kSide / (seconds() - start));
  }
  return median(rates);
}

}  // namespace cuda
}  // namespace gloaming

#endif
