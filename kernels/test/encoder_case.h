/* Random encoders on every table of kernels, against the reference. */
#ifndef GLOAMING_TEST_ENCODER_CASE_H
#define GLOAMING_TEST_ENCODER_CASE_H

#include "engine/encoder.h"
#include "reference/reference.h"
#include "test/case.h"

namespace gloaming {

inline std::vector<float> randomFloats(Random& random, size_t count, float from, float to) {
  std::uniform_real_distribution<float> between(from, to);
  std::vector<float> values(count);
  for (float& value : values) value = between(random);
  return values;
}

inline LooseWeights randomLayer(Random& random, uint32_t outputs, uint32_t inputs, float scale) {
  LooseWeights layer;
  layer.weights = randomRows(random, outputs, inputs);
  layer.scales = randomFloats(random, outputs, 0, scale);
  for (uint32_t c = 0; c < outputs; ++c) layer.bias.push_back(static_cast<int32_t>(below(random, 4'000)) - 2'000);
  return layer;
}

/* Bytes of all layers saturate at both ends now and then. */
inline LooseEncoder randomEncoder(Random& random) {
  LooseEncoder model;
  model.width = 64 * (1 + below(random, 3));
  model.inner = 64 * (1 + below(random, 2));
  model.dimension = 8 * (1 + below(random, 8));
  model.stemTaps = 1 + 2 * below(random, 4);
  model.mixTaps = 1 + 2 * below(random, 3);
  model.letterCount = 20 + below(random, 13);
  model.padding = model.letterCount - 1;
  model.epsilon = model.leastLength = 1e-6F;
  model.letters = randomFloats(random, size_t{model.stemTaps} * model.letterCount * model.width, -1, 1);
  for (uint32_t left = 1 + below(random, 3); left > 0; --left) {
    LooseBlock block;
    block.dilation = 1 + below(random, 20);
    block.zero = static_cast<int32_t>(below(random, 256));
    block.gamma = randomFloats(random, model.width, -90, 90);
    block.down = randomLayer(random, model.inner, model.width, .02F);
    block.mix = randomLayer(random, model.inner, model.mixTaps * model.inner, .02F);
    block.up = randomLayer(random, model.width, model.inner, .001F);
    block.upBias = randomFloats(random, model.width, -1, 1);
    model.blocks.push_back(std::move(block));
  }
  model.gamma = randomFloats(random, model.width, -2, 2);
  model.projection = randomFloats(random, size_t{model.width} * model.dimension, -1, 1);
  return model;
}

/* Compares the vectors of a protein on all tables, bit for bit. Returns the number of comparisons. */
inline uint32_t checkEncoder(Random& random, uint32_t length) {
  const LooseEncoder model = randomEncoder(random);
  const Encoder encoder(model);
  std::vector<uint8_t> letters(length);
  for (uint8_t& letter : letters) letter = static_cast<uint8_t>(below(random, model.letterCount));
  Workspace workspace;
  const std::vector<float> expected = encoder.encode(referenceKernels, letters, workspace);
  uint32_t done = 0;
  for (const Kernels* table : tablesToCheck()) {
    if (table->encode == nullptr) continue;
    const std::vector<float> found = encoder.encode(*table, letters, workspace);
    ++done;
    if (std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)) == 0) continue;
    std::fprintf(stderr, "%s encodes a protein of %u residues differently\n", table->name, length);
    std::exit(1);
  }
  return done;
}

}  // namespace gloaming

#endif
