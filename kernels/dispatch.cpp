/* Chooses a table of kernels at run time: the named one, or the fastest that this processor runs. */
#include <cstring>

#include "kernels.h"
#include "reference/reference.h"

#if defined(__x86_64__)
#include "avx2/avx2.h"
#include "avx512/avx512.h"
#if defined(GLOAMING_HAS_AMX)
#include "amx/amx.h"
#endif
#elif defined(__aarch64__)
#include "neon/neon.h"
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#endif

namespace gloaming {
namespace {

size_t copiedBytes(uint32_t length, uint32_t dimension) { return size_t{length} * dimension; }
void copy(const Tokens& query, void* packed) {
  std::memcpy(packed, query.values, copiedBytes(query.length, query.dimension));
}
void copyAffine(const AffineQuery& query, void* packed) { copy(query.tokens, packed); }

/* affineScores of a table without batches. */
template <int32_t (*affineScore)(const AffineTask&)>
void oneByOne(const AffineTask* tasks, uint32_t count, int32_t* scores) {
  for (uint32_t t = 0; t < count; ++t) scores[t] = affineScore(tasks[t]);
}

}  // namespace

// A line for each operation.
// clang-format off
const Kernels referenceKernels{"reference",
                               copiedBytes, copy, 0, nullptr, referenceMaxsimRows,
                               copiedBytes, copyAffine, referenceAffineScore,
                               1, {1, 1}, oneByOne<referenceAffineScore>, nullptr, referenceAffineAlign,
                               referenceProfileScores, referenceCodedRows, referenceKmerRows, referenceEncode};

#if defined(__x86_64__)
const Kernels avx2Kernels{"avx2",
                          avx2MaxsimPackedBytes, avx2MaxsimPack, 2, avx2MaxsimPrepare, avx2MaxsimRows,
                          avx2AffinePackedBytes, avx2AffinePack, avx2AffineScore,
                          16, {1.1, 1.1}, avx2AffineScores, avx2AffineMeasures, avx2AffineAlign,
                          avx2ProfileScores, avx2CodedRows, avx2KmerRows, nullptr};
const Kernels avx512vnniKernels{"avx512vnni",
                                avx512MaxsimPackedBytes, avx512MaxsimPack, 1, avx512MaxsimPrepare, avx512MaxsimRows,
                                avx512AffinePackedBytes, avx512AffinePack, avx512AffineScore,
                                32, {1.25, 2}, avx512AffineScores, avx512AffineMeasures, avx512AffineAlign,
                                avx512ProfileScores, avx512CodedRows, avx512KmerRows, avx512Encode};
#if defined(GLOAMING_HAS_AMX)
const Kernels amxKernels{"amx",
                         amxMaxsimPackedBytes, amxMaxsimPack, 0, nullptr, amxMaxsimRows,
                         avx512AffinePackedBytes, avx512AffinePack, avx512AffineScore,
                         32, {2.8, 2.9}, amxAffineScores, amxAffineMeasures, avx512AffineAlign,
                         avx512ProfileScores, avx512CodedRows, avx512KmerRows, amxEncode};
#endif
#elif defined(__aarch64__)
const Kernels neonKernels{"neon",
                          neonMaxsimPackedBytes, neonMaxsimPack, 0, nullptr, neonMaxsimRows,
                          neonAffinePackedBytes, neonAffinePack, neonAffineScore,
                          1, {1, 1}, oneByOne<neonAffineScore>, nullptr, neonAffineAlign,
                          referenceProfileScores, referenceCodedRows, neonKmerRows, nullptr};
#endif
// clang-format on

const Kernels* const* compiledKernels(size_t* count) {
  // clang-format 14 indents entries between #if lines by two columns less.
  // clang-format off
  static const Kernels* const all[] = {
#if defined(__x86_64__)
#if defined(GLOAMING_HAS_AMX)
      &amxKernels,
#endif
      &avx512vnniKernels,
      &avx2Kernels,
#elif defined(__aarch64__)
      &neonKernels,
#endif
      &referenceKernels,
  };
  // clang-format on
  *count = sizeof all / sizeof all[0];
  return all;
}

bool canRun(const Kernels& kernels) {
#if defined(GLOAMING_HAS_AMX)
  if (&kernels == &amxKernels) return canRun(avx512vnniKernels) && canUseTiles();
#endif
#if defined(__x86_64__)
  // These checks include the operating system: registers that it does not save count as missing.
  if (&kernels == &avx512vnniKernels) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  }
  if (&kernels == &avx2Kernels) return __builtin_cpu_supports("avx2");
#elif defined(__aarch64__) && defined(__linux__)
  if (&kernels == &neonKernels) return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
  if (&kernels == &neonKernels) return true;  // all of Apple's processors have the dot product
#endif
  return &kernels == &referenceKernels;
}

const Kernels* chooseKernels(const char* name) {
  size_t count = 0;
  const Kernels* const* all = compiledKernels(&count);
  const bool any = name == nullptr || name[0] == '\0';
  for (size_t k = 0; k < count; ++k) {
    if ((any || std::strcmp(all[k]->name, name) == 0) && canRun(*all[k])) return all[k];
  }
  return nullptr;
}

}  // namespace gloaming
