#include "engine/encoder.h"

#include <cmath>
#include <string>

#include "engine/store.h"

namespace gloaming {
namespace {

constexpr uint32_t kMaxChannels = 4'096, kMaxBlocks = 256, kMaxDilation = 64;
/** As large as a sum of products. */
constexpr int32_t kMaxBias = 1 << 30;
/** Ranges in which no step leaves float32 and every rounded value fits in 32 bits. Models are far inside. */
constexpr float kMaxFactor = 1e6F, kMaxByteScale = .5F, kMaxUpScale = 100;

void require(bool holds, const char* what) {
  if (!holds) throw ShapeError(std::string("the encoder's ") + what + " cannot be used");
}

void requireFloats(const std::vector<float>& values, size_t count, float largest, const char* what) {
  bool holds = values.size() == count;
  for (const float value : values) holds = holds && std::abs(value) <= largest;
  require(holds, what);
}

void requireLayer(const LooseWeights& layer, uint32_t outputs, uint32_t inputs) {
  require(inputs <= kMaxEncoderInputs && layer.weights.size() == size_t{outputs} * inputs, "weights");
  requireFloats(layer.scales, outputs, kMaxByteScale, "scales");
  bool holds = layer.bias.size() == outputs;
  // The bias of `down` takes the zero point in, which adds up to 2^30.
  for (const int32_t bias : layer.bias) holds = holds && std::abs(int64_t{bias}) <= kMaxBias / 2;
  require(holds, "bias");
}

/* Packs the weights of a product in their place. */
ByteWeights pack(std::vector<int8_t>& weights, uint32_t outputs, uint32_t inputs) {
  std::vector<int8_t> packed;
  packed.reserve(weights.size());
  for (uint32_t block = 0; block < outputs; block += kEncoderRows) {
    for (uint32_t step = 0; step < inputs; step += kEncoderStep) {
      for (uint32_t output = block; output < block + kEncoderRows; ++output) {
        const int8_t* from = weights.data() + size_t{output} * inputs + step;
        packed.insert(packed.end(), from, from + kEncoderStep);
      }
    }
  }
  weights = std::move(packed);
  return {weights.data(), inputs, outputs};
}

ByteLayer packLayer(LooseWeights& layer, uint32_t outputs, uint32_t inputs) {
  return {pack(layer.weights, outputs, inputs), layer.bias.data(), layer.scales.data()};
}

}  // namespace

Encoder::Encoder(LooseEncoder loose) : loose_(std::move(loose)) {
  const LooseEncoder& given = loose_;
  const auto isChannels = [](uint32_t count) {
    return count > 0 && count <= kMaxChannels && count % kEncoderStep == 0;
  };
  const auto isTaps = [](uint32_t count) { return count % 2 == 1 && count <= kMaxEncoderTaps; };
  require(isChannels(given.width) && isChannels(given.inner), "channels");
  require(given.dimension > 0 && given.dimension <= kMaxDimension && given.dimension % 8 == 0, "dimension");
  require(isTaps(given.stemTaps) && isTaps(given.mixTaps), "taps");
  require(given.letterCount <= kEncoderLetters && given.padding < given.letterCount, "letters");
  require(given.blocks.size() <= kMaxBlocks, "blocks");
  require(given.epsilon >= 1e-12F && given.epsilon <= 1, "epsilon");
  require(given.leastLength >= 1e-12F && given.leastLength <= 1, "least length");
  requireFloats(given.letters, size_t{given.stemTaps} * given.letterCount * given.width, kMaxFactor, "letters");
  requireFloats(given.gamma, given.width, kMaxFactor, "norm");
  requireFloats(given.projection, size_t{given.width} * given.dimension, kMaxFactor, "projection");

  letters_.resize(size_t{given.stemTaps} * given.width * kEncoderLetters);
  for (uint32_t tap = 0; tap < given.stemTaps; ++tap) {
    for (uint32_t letter = 0; letter < given.letterCount; ++letter) {
      for (uint32_t c = 0; c < given.width; ++c) {
        letters_[(size_t{tap} * given.width + c) * kEncoderLetters + letter] =
            given.letters[(size_t{tap} * given.letterCount + letter) * given.width + c];
      }
    }
  }
  for (LooseBlock& block : loose_.blocks) blocks_.push_back(packBlock(block));
  weights_ = {given.width,
              given.inner,
              given.dimension,
              given.stemTaps,
              given.mixTaps,
              static_cast<uint8_t>(given.padding),
              letters_.data(),
              blocks_.data(),
              static_cast<uint32_t>(blocks_.size()),
              given.gamma.data(),
              given.projection.data(),
              given.epsilon,
              given.leastLength};
}

EncoderBlock Encoder::packBlock(LooseBlock& loose) {
  const uint32_t width = loose_.width, inner = loose_.inner;
  require(loose.dilation >= 1 && loose.dilation <= kMaxDilation, "dilation");
  require(loose.zero >= 0 && loose.zero <= 255, "zero point");
  requireFloats(loose.gamma, width, kMaxFactor, "norm");
  requireLayer(loose.down, inner, width);
  requireLayer(loose.mix, inner, loose_.mixTaps * inner);
  require(loose.up.weights.size() == size_t{width} * inner, "weights");
  requireFloats(loose.up.scales, width, kMaxUpScale, "scales");
  requireFloats(loose.upBias, width, kMaxFactor, "bias");
  for (uint32_t output = 0; output < inner; ++output) {
    int32_t sum = 0;
    for (uint32_t input = 0; input < width; ++input) sum += loose.down.weights[size_t{output} * width + input];
    loose.down.bias[output] -= loose.zero * sum;
  }
  return {loose.gamma.data(),
          loose.zero,
          packLayer(loose.down, inner, width),
          packLayer(loose.mix, inner, loose_.mixTaps * inner),
          loose.dilation,
          pack(loose.up.weights, width, inner),
          loose.up.scales.data(),
          loose.upBias.data()};
}

std::vector<float> Encoder::encode(const Kernels& kernels, const std::vector<uint8_t>& letters,
                                   Workspace& workspace) const {
  require(kernels.encode != nullptr, "kernels");
  require(!letters.empty() && letters.size() <= kMaxLength, "length");
  bool isKnown = true;
  for (const uint8_t letter : letters) isKnown = isKnown && letter < loose_.letterCount;
  require(isKnown, "letters");
  std::vector<float> vectors(letters.size() * weights_.dimension);
  kernels.encode(weights_, letters.data(), static_cast<uint32_t>(letters.size()), workspace, vectors.data());
  return vectors;
}

}  // namespace gloaming
