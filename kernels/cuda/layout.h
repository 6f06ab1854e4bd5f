/* The layout of bytes and dot products in the MaxSim kernels: plain arithmetic for device and host, so that the CPU can
 * test it. Nothing here needs CUDA.
 *
 * Targets in device memory. A protein starts on a row that is a multiple of 8. The padding repeats its last row, which
 * cannot change a maximum of the query, and the maxima of the padding are never summed. Eight rows are a group. A group
 * consists of core matrices of 8 rows × 16 bytes:
 *
 *     group      | core matrix 0 | core matrix 1 | …           dimension / 16 of them, 128 bytes each
 *     core c     row 0, bytes 16c … 16c + 15 | row 1, … | … | row 7, …
 *
 * A warp reads a core matrix as 32 neighbouring words, which are the operands of its lanes.
 *
 * Dot products in registers. Target rows are the M side of both matrix instructions (mma.sync, wgmma), query rows the N
 * side. A warp computes 16 target rows, from registers. Both instructions leave results in the same pattern:
 *
 *     lane l, register 4n + i      target row l/4 + 8·(i/2), query row 8n + 2·(l%4) + i%2
 *
 * So a lane's registers have few target rows and many query rows. A warp has rows of one protein only.
 */
#ifndef GLOAMING_CUDA_LAYOUT_H
#define GLOAMING_CUDA_LAYOUT_H

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define GLOAMING_BOTH __host__ __device__ __forceinline__
#define GLOAMING_TEAM __device__ __forceinline__
#define GLOAMING_UNROLL _Pragma("unroll")
#else
#define GLOAMING_BOTH inline
#define GLOAMING_TEAM inline
#define GLOAMING_UNROLL
#endif

namespace gloaming {
namespace cuda {

constexpr uint32_t kGroupRows = 8;
constexpr uint32_t kCoreBytes = 128;
/** Bytes of a row that one matrix instruction takes. */
constexpr uint32_t kStepBytes = 32;

/** Groups of a target with this number of rows. */
GLOAMING_BOTH constexpr uint32_t groupsOf(uint32_t length) { return (length + kGroupRows - 1) / kGroupRows; }
GLOAMING_BOTH constexpr uint32_t groupBytes(uint32_t dimension) { return kGroupRows * dimension; }

/** Where a byte of a row lies, rows counted from the first of a group: targets, and the query of the wgmma kernel. */
GLOAMING_BOTH size_t coreOffset(uint32_t row, uint32_t byte, uint32_t dimension) {
  return size_t{row / kGroupRows} * groupBytes(dimension) + byte / 16 * kCoreBytes + row % kGroupRows * 16 + byte % 16;
}

/** A target row and a byte of it, or a query row and a byte of it, or a target row and a query row. */
struct Place {
  uint32_t row, column;
};

/** Operand A, register 0..3 of a lane, its first byte: target row and byte of the step. */
GLOAMING_BOTH Place fragmentA(uint32_t lane, uint32_t index) {
  return {lane / 4 + index % 2 * 8, lane % 4 * 4 + index / 2 * 16};
}
/** Operand B of m16n8k32, register 0..1 of a lane, its first byte: query row and byte of the step. */
GLOAMING_BOTH Place fragmentB(uint32_t lane, uint32_t index) { return {lane / 4, lane % 4 * 4 + index * 16}; }
/** A lane's results: target row and query row. */
GLOAMING_BOTH Place fragmentD(uint32_t lane, uint32_t index) {
  return {lane / 4 + index / 2 % 2 * 8, index / 4 * 8 + lane % 4 * 2 + index % 2};
}

/** Operand A inside the group of its row: lane l reads word l of a core matrix. */
GLOAMING_BOTH uint32_t operandAOffset(uint32_t lane, uint32_t step, uint32_t index) {
  return (step * 2 + index / 2) * kCoreBytes + lane * 4;
}
/** Operand B of m16n8k32 in a packed query: the two registers of a lane follow each other, then the next lane. */
GLOAMING_BOTH size_t operandBOffset(uint32_t lane, uint32_t group, uint32_t step, uint32_t dimension) {
  return ((size_t{group} * (dimension / kStepBytes) + step) * 32 + lane) * 8;
}

/** What the wgmma descriptor of an unswizzled K-major operand says: strides between core matrices. */
struct Descriptor {
  uint64_t bits;
};

/* Fields in units of 16 bytes: the start is in bits 0–13. The distance of neighbouring core matrices along K (leading
 * dimension) is in bits 16–29; that along M or N (stride dimension) is in bits 32–45. Base offset (49–51) and swizzle
 * mode (62–63) are 0.
 * Range   shared-memory addresses under 2^18, all multiples of 16 Source  PTX ISA, "Matrix Descriptor Format" and
 * "Strides" of wgmma */
GLOAMING_BOTH Descriptor coreDescriptor(uint32_t address, uint32_t dimension) {
  const uint64_t start = (address & 0x3ffff) >> 4, leading = kCoreBytes >> 4, stride = groupBytes(dimension) >> 4;
  return {start | leading << 16 | stride << 32};
}
/** The same operand, 32 bytes further in every row. */
GLOAMING_BOTH Descriptor nextStep(Descriptor descriptor) { return {descriptor.bits + (2 * kCoreBytes >> 4)}; }

}  // namespace cuda
}  // namespace gloaming

#endif
