/*
 * Encoders of int8 weights and activations, as indexes/encoders/gloaming-4/recipe/quantise.py makes them: a table of
 * letters, residual blocks of three products of bytes each, and a projection. ONNX Runtime encodes where a table of
 * kernels has no `encode`.
 *
 * The results are those of ONNX Runtime 1.30 on x86-64 with FMA, bit for bit: products of bytes are exact, and each
 * step in float32 follows its order of operations. reference/encoder.cpp defines this order.
 *
 *     stream    Σ over taps of the row of the letter, in the order of taps     float32 [length × width]
 *     each block
 *       bytes   round(norm(stream) × gamma) + zero, as a byte                  [length × width]
 *       down    ReLU of bytes × weights                                        bytes [length × inner]
 *       mix     ReLU of a dilated convolution of down                          bytes [length × inner]
 *       stream  += mix × weights × scale + bias                                float32
 *     vectors   norm(stream) × gamma × projection, scaled to length 1          float32 [length × dimension]
 *
 * Rounding is to the nearest, and to even at ties. A byte that would be below 0 is 0, and one above 255 is 255.
 */
#ifndef GLOAMING_ENCODER_H
#define GLOAMING_ENCODER_H

#include <cstddef>
#include <cstdint>

namespace gloaming {

/** Channels of a block of packed weights. */
constexpr uint32_t kEncoderRows = 16;
/** Inputs of a step of packed weights. */
constexpr uint32_t kEncoderStep = 64;
/** Sums of squares of a norm: channel c adds to the sum c modulo this. */
constexpr uint32_t kNormLanes = 8;
/** Entries of a table of letters for one tap and channel. */
constexpr uint32_t kEncoderLetters = 32;
constexpr uint32_t kMaxEncoderTaps = 15;
/** Most inputs of a product: their sums are at most 2^30. */
constexpr uint32_t kMaxEncoderInputs = 32'768;

/** Weights of a product of bytes, packed by blocks of kEncoderRows outputs, then by steps of kEncoderStep inputs:
 * [blocks][steps][kEncoderRows][kEncoderStep]. Inputs are ordered by tap, then by channel. */
struct ByteWeights {
  const int8_t* packed;
  uint32_t inputs, outputs;

  int32_t weight(uint32_t output, uint32_t input) const {
    const size_t block = output / kEncoderRows, steps = inputs / kEncoderStep, step = input / kEncoderStep;
    const size_t row = (block * steps + step) * kEncoderRows + output % kEncoderRows;
    return packed[row * kEncoderStep + input % kEncoderStep];
  }
};

/** A product that ends with a ReLU: byte = round((sum + bias) × scale). */
struct ByteLayer {
  ByteWeights weights;
  /** [outputs] each. The bias undoes the zero point of the inputs. */
  const int32_t* bias;
  const float* scales;
};

struct EncoderBlock {
  /** [width] */
  const float* gamma;
  int32_t zero;
  ByteLayer down, mix;
  uint32_t dilation;
  ByteWeights up;
  /** [width] each. */
  const float* upScales;
  const float* upBias;
};

/** Range  width and inner multiples of 64; dimension a multiple of 8; all taps odd, up to kMaxEncoderTaps */
struct EncoderWeights {
  uint32_t width, inner, dimension, stemTaps, mixTaps;
  /** Letter of places before the first and after the last residue. */
  uint8_t padding;
  /** [stemTaps × width × kEncoderLetters] */
  const float* letters;
  const EncoderBlock* blocks;
  uint32_t blockCount;
  /** [width] */
  const float* gamma;
  /** [width × dimension] */
  const float* projection;
  /** Added to a mean square. */
  float epsilon;
  /** Least divisor of a vector. */
  float leastLength;
};

}  // namespace gloaming

#endif
