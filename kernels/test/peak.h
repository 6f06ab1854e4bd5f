/* Measures the peak rate of this machine's multiply-add units: register-only loops with enough independent sums. */
#ifndef GLOAMING_TEST_PEAK_H
#define GLOAMING_TEST_PEAK_H

#include <cstdint>

#include "kernels.h"
#if defined(GLOAMING_HAS_AMX)
#include "amx/tiles.h"
#endif

namespace gloaming {

#if defined(__x86_64__)

// A list.
// clang-format off
#define GLOAMING_REPEAT_24(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) \
  X(20) X(21) X(22) X(23)
#define GLOAMING_REPEAT_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
// clang-format on

/* Runs 24 vpdpbusd per round; returns int8 multiply-adds done. */
inline double runVnniRounds(uint64_t rounds) {
#define GLOAMING_DOT(n) "vpdpbusd %%zmm30, %%zmm31, %%zmm" #n "\n\t"
  const double products = static_cast<double>(rounds) * 24 * 64;
  asm volatile(
      "1:\n\t" GLOAMING_REPEAT_24(GLOAMING_DOT) "dec %0\n\t"
      "jnz 1b\n\t"
      : "+r"(rounds)
      :
      : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15");
#undef GLOAMING_DOT
  return products;
}

#define GLOAMING_ROUNDS(dot) \
  asm volatile( \
      "1:\n\t" GLOAMING_REPEAT_12(dot) "dec %0\n\t" \
      "jnz 1b\n\t" \
      : "+r"(rounds) \
      : \
      : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
        "xmm12", "xmm13", "xmm14", "xmm15")

/* Runs 12 vpmaddubsw + vpaddw pairs per round, 32 products each. */
inline double runByteRounds(uint64_t rounds) {
#define GLOAMING_DOT(n) "vpmaddubsw %%ymm14, %%ymm15, %%ymm13\n\tvpaddw %%ymm13, %%ymm" #n ", %%ymm" #n "\n\t"
  const double products = static_cast<double>(rounds) * 12 * 32;
  GLOAMING_ROUNDS(GLOAMING_DOT);
#undef GLOAMING_DOT
  return products;
}
#undef GLOAMING_ROUNDS

#if defined(GLOAMING_HAS_AMX)
/* Runs four tdpbssd per round, 16 × 16 × 64 products each. */
inline double runTileRounds(uint64_t rounds) {
  alignas(64) TileShapes shapes;
  for (uint32_t tile = 0; tile < 6; ++tile) shapes.set(tile, 16, 64);
  Tiles tiles(shapes);
  for (uint64_t round = 0; round < rounds; ++round) {
    tiles.multiplyAdd<0, 4, 5>();
    tiles.multiplyAdd<1, 4, 5>();
    tiles.multiplyAdd<2, 4, 5>();
    tiles.multiplyAdd<3, 4, 5>();
  }
  return static_cast<double>(rounds) * 4 * 16 * 16 * 64;
}
#endif

inline bool hasPeakProbe(const Kernels& kernels) { return &kernels != &referenceKernels; }

/* Runs the multiply instructions of the table's MaxSim; returns multiply-adds done. */
inline double runMaxsimPeak(const Kernels& kernels, uint64_t rounds) {
#if defined(GLOAMING_HAS_AMX)
  if (&kernels == &amxKernels) return runTileRounds(rounds / 16);
#endif
  return &kernels == &avx512vnniKernels ? runVnniRounds(rounds) : runByteRounds(rounds);
}

/* Runs the multiply instructions of the table's affine kernels. */
inline double runAffinePeak(const Kernels& kernels, uint64_t rounds) {
#if defined(GLOAMING_HAS_AMX)
  if (&kernels == &amxKernels) return runTileRounds(rounds / 16);
#endif
  return &kernels == &avx2Kernels ? runByteRounds(rounds) : runVnniRounds(rounds);
}

#else

inline bool hasPeakProbe(const Kernels&) { return false; }
inline double runMaxsimPeak(const Kernels&, uint64_t) { return 0; }
inline double runAffinePeak(const Kernels&, uint64_t) { return 0; }

#endif

}  // namespace gloaming

#endif
