/* The AVX-512 VNNI table with the plain twins of its assembly. Tests compare it with the reference, and the bench times
 * it beside the assembly. dispatch.cpp does not list it. */
#ifndef GLOAMING_TEST_PLAIN_TILES_H
#define GLOAMING_TEST_PLAIN_TILES_H

#include "kernels.h"
#if defined(__x86_64__)
#include "avx512/avx512.h"
#endif

namespace gloaming {

/* The table with plain twins of the assembly of another table; null if that table has no twins. */
inline const Kernels* plainTwinOf(const Kernels& kernels) {
#if defined(__x86_64__)
  static const Kernels twin = [] {
    Kernels plain = avx512vnniKernels;
    plain.name = "avx512vnni intrinsics";
    plain.maxsimRows = avx512PlainMaxsimRows;
    plain.affineScores = avx512PlainAffineScores;
    plain.affineMeasures = avx512PlainAffineMeasures;
    plain.profileScores = avx512PlainProfileScores;
    return plain;
  }();
  if (&kernels == &avx512vnniKernels) return &twin;
#endif
  static_cast<void>(kernels);
  return nullptr;
}

}  // namespace gloaming

#endif
