#include "encoder.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/reference.h"

namespace gloaming {
namespace {

/* Returns the factor of a norm, 1 ÷ the root of the mean square. Eight sums take turns and are then added by halves. */
float normFactor(const float* row, uint32_t width, float epsilon) {
  float sums[kNormLanes] = {};
  for (uint32_t c = 0; c < width; ++c) sums[c % kNormLanes] = std::fma(row[c], row[c], sums[c % kNormLanes]);
  for (uint32_t half = kNormLanes / 2; half > 0; half /= 2) {
    for (uint32_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return 1 / std::sqrt(sums[0] / static_cast<float>(width) + epsilon);
}

uint8_t toByte(float value) { return static_cast<uint8_t>(std::nearbyint(std::min(std::max(value, 0.0F), 255.0F))); }

/* One output of a layer; `inputs` are the bytes in the order of its weights. */
uint8_t layerByte(const ByteLayer& layer, const std::vector<uint8_t>& inputs, uint32_t output) {
  int32_t sum = layer.bias[output];
  for (uint32_t i = 0; i < inputs.size(); ++i) sum += inputs[i] * layer.weights.weight(output, i);
  return toByte(static_cast<float>(sum) * layer.scales[output]);
}

std::vector<float> letterRows(const EncoderWeights& model, const uint8_t* letters, uint32_t length) {
  std::vector<float> stream(size_t{length} * model.width);
  for (uint32_t row = 0; row < length; ++row) {
    for (uint32_t c = 0; c < model.width; ++c) {
      float sum = 0;
      for (uint32_t tap = 0; tap < model.stemTaps; ++tap) {
        const uint32_t place = row + tap - model.stemTaps / 2;  // beyond the length before the first residue
        const uint8_t letter = place < length ? letters[place] : model.padding;
        const float part = model.letters[(size_t{tap} * model.width + c) * kEncoderLetters + letter];
        sum = tap == 0 ? part : sum + part;
      }
      stream[size_t{row} * model.width + c] = sum;
    }
  }
  return stream;
}

void addBlock(const EncoderWeights& model, const EncoderBlock& block, uint32_t length, std::vector<float>& stream) {
  const uint32_t width = model.width, inner = model.inner;
  std::vector<uint8_t> bytes(width), hidden(size_t{length} * inner);
  for (uint32_t row = 0; row < length; ++row) {
    const float* own = stream.data() + size_t{row} * width;
    const float factor = normFactor(own, width, model.epsilon);
    for (uint32_t c = 0; c < width; ++c) {
      bytes[c] = toByte(std::nearbyint(own[c] * factor * block.gamma[c]) + static_cast<float>(block.zero));
    }
    for (uint32_t c = 0; c < inner; ++c) hidden[size_t{row} * inner + c] = layerByte(block.down, bytes, c);
  }
  std::vector<uint8_t> near(size_t{model.mixTaps} * inner), mixed(inner);
  for (uint32_t row = 0; row < length; ++row) {
    for (uint32_t tap = 0; tap < model.mixTaps; ++tap) {
      const uint32_t place = row + tap * block.dilation - model.mixTaps / 2 * block.dilation;
      for (uint32_t c = 0; c < inner; ++c) {
        near[size_t{tap} * inner + c] = place < length ? hidden[size_t{place} * inner + c] : 0;
      }
    }
    for (uint32_t c = 0; c < inner; ++c) mixed[c] = layerByte(block.mix, near, c);
    for (uint32_t c = 0; c < width; ++c) {
      int32_t sum = 0;
      for (uint32_t i = 0; i < inner; ++i) sum += mixed[i] * block.up.weight(c, i);
      const float scaled = static_cast<float>(sum) * block.upScales[c];
      stream[size_t{row} * width + c] += scaled + block.upBias[c];
    }
  }
}

}  // namespace

/* Writes unit vectors of the residues; encoder.h describes the steps.
 *
 * Shape   letters [length], vectors [length × dimension]
 * Range   length 1..kMaxLength; letters below kEncoderLetters
 * Order   as written here, with fused multiplications and additions where std::fma stands and nowhere else
 */
void referenceEncode(const EncoderWeights& model, const uint8_t* letters, uint32_t length, Workspace&, float* vectors) {
  std::vector<float> stream = letterRows(model, letters, length);
  for (uint32_t b = 0; b < model.blockCount; ++b) addBlock(model, model.blocks[b], length, stream);
  std::vector<float> normed(model.width);
  for (uint32_t row = 0; row < length; ++row) {
    const float* own = stream.data() + size_t{row} * model.width;
    float* vector = vectors + size_t{row} * model.dimension;
    const float factor = normFactor(own, model.width, model.epsilon);
    for (uint32_t c = 0; c < model.width; ++c) normed[c] = own[c] * factor * model.gamma[c];
    float squares = 0;
    for (uint32_t d = 0; d < model.dimension; ++d) {
      float sum = 0;
      for (uint32_t c = 0; c < model.width; ++c) {
        sum = std::fma(normed[c], model.projection[size_t{c} * model.dimension + d], sum);
      }
      vector[d] = sum;
      const float square = sum * sum;
      squares += square;
    }
    const float divisor = std::max(std::sqrt(squares), model.leastLength);
    for (uint32_t d = 0; d < model.dimension; ++d) vector[d] /= divisor;
  }
}

}  // namespace gloaming
