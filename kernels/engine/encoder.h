/* An encoder's weights: checked, and packed as encoder.h says. */
#ifndef GLOAMING_ENGINE_ENCODER_H
#define GLOAMING_ENGINE_ENCODER_H

#include <vector>

#include "engine/workspace.h"
#include "kernels.h"

namespace gloaming {

/** Weights of a product of bytes as models store them: [outputs][taps × channels]. */
struct LooseWeights {
  std::vector<int8_t> weights;
  /** [outputs] each; `up` has the bias in float32. */
  std::vector<float> scales;
  std::vector<int32_t> bias;
};

struct LooseBlock {
  uint32_t dilation;
  /** Zero point of the bytes, 0..255. */
  int32_t zero;
  /** [width] */
  std::vector<float> gamma;
  LooseWeights down, mix, up;
  /** [width] */
  std::vector<float> upBias;
};

struct LooseEncoder {
  uint32_t width, inner, dimension, stemTaps, letterCount, mixTaps;
  uint32_t padding;
  float epsilon, leastLength;
  /** [stemTaps][letterCount][width] */
  std::vector<float> letters;
  std::vector<LooseBlock> blocks;
  /** [width] */
  std::vector<float> gamma;
  /** [width][dimension] */
  std::vector<float> projection;
};

class Encoder {
 public:
  /* Errors  ShapeError where an array has another size than its shape, or a number could leave the range of the
   *         arithmetic. A table of kernels then computes the same as the reference. */
  explicit Encoder(LooseEncoder loose);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /* Vectors [letters × dimension] by a table of kernels with `encode`.
   * Errors  ShapeError where there are no letters, too many, or an unknown one */
  std::vector<float> encode(const Kernels& kernels, const std::vector<uint8_t>& letters, Workspace& workspace) const;

 private:
  EncoderBlock packBlock(LooseBlock& loose);

  /** Its weights are packed; `weights_` points into it. */
  LooseEncoder loose_;
  std::vector<float> letters_;
  std::vector<EncoderBlock> blocks_;
  EncoderWeights weights_;
};

}  // namespace gloaming

#endif
