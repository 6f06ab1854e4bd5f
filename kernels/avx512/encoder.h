/* Encoders (encoder.h) with a residue in each lane. `Products` multiplies bytes: avx512/encoder.cpp and amx/encoder.h
 * have one each. All other steps are the same.
 *
 * A strip is up to 64 neighbouring residues, four vectors. Within a strip, data lie by channel: the float32 of a
 * channel in four vectors, or the bytes of four channels (a quad) of 16 residues in one. A block of the model runs
 * strip by strip, while the strip's stream stays in the cache: its mix, its sum, and the next block's norm and `down`.
 */
#ifndef GLOAMING_AVX512_ENCODER_H
#define GLOAMING_AVX512_ENCODER_H

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "encoder.h"
#include "engine/workspace.h"
#include "kernels.h"

namespace gloaming {
namespace {

constexpr uint32_t kEncoderLanes = 16;
constexpr uint32_t kStripVectors = 4;
constexpr uint32_t kStrip = kStripVectors * kEncoderLanes;
/** Outputs that are multiplied together: two blocks of weights. */
constexpr uint32_t kPanelRows = 2 * kEncoderRows;
/** Components that are projected together: their sums hide each other's latency. */
constexpr uint32_t kProjected = 8;
/* Inputs of a product: for each step of its weights, the quads of the strip's first residue. */
struct ByteInputs {
  const uint8_t* steps[kMaxEncoderInputs / kEncoderStep];
  uint32_t stepCount;
  /** Bytes from one quad to the next. */
  size_t stride;
};

template <class Products>
class StripEncoder {
 public:
  StripEncoder(const EncoderWeights& model, uint32_t length, Workspace& workspace)
      : model_(model), length_(length), stripCount_((length + kStrip - 1) / kStrip) {
    uint32_t reach = model.stemTaps / 2;
    for (uint32_t b = 0; b < model.blockCount; ++b) {
      reach = std::max(reach, model.mixTaps / 2 * model.blocks[b].dilation);
    }
    side_ = roundUp(reach, kEncoderLanes);
    // An odd number of cache lines, so that the quads of a step do not share a set of the cache.
    stride_ = ((size_t{stripCount_} * kStrip + 2 * side_) * 4 / 64 | 1) * 64;
    const size_t streamBytes = size_t{stripCount_} * model.width * kStrip * sizeof(float);
    const size_t hiddenBytes = stride_ * (model.inner / 4);
    const size_t quadBytes = size_t{model.width} * kStrip, mixedBytes = size_t{model.inner} * kStrip;
    const size_t rowBytes = size_t{model.dimension} * kStrip * sizeof(float);
    const size_t letterBytes = roundUp(length + 2 * side_, kStrip) + kStrip;
    auto* memory = static_cast<uint8_t*>(workspace.reserve(
        Workspace::kEncoder, streamBytes + 2 * hiddenBytes + quadBytes + mixedBytes + rowBytes + letterBytes));
    const auto take = [&memory](size_t bytes) { return std::exchange(memory, memory + bytes); };
    stream_ = reinterpret_cast<float*>(take(streamBytes));
    for (uint8_t*& hidden : hidden_) std::memset(hidden = take(hiddenBytes), 0, hiddenBytes);
    bytes_ = take(quadBytes);
    mixed_ = take(mixedBytes);
    rows_ = reinterpret_cast<float*>(take(rowBytes));
    letters_ = take(letterBytes);
    std::memset(letters_, model.padding, letterBytes);
  }

  void run(const uint8_t* letters, float* vectors) {
    std::memcpy(letters_ + side_, letters, length_);
    for (uint32_t strip = 0; strip < stripCount_; ++strip) {
      enter(strip);
      addLetters();
      next(0, vectors);
    }
    for (uint32_t b = 0; b < model_.blockCount; ++b) {
      for (uint32_t strip = 0; strip < stripCount_; ++strip) {
        enter(strip);
        addBlock(model_.blocks[b], hidden_[b % 2]);
        next(b + 1, vectors);
      }
    }
  }

 private:
  void enter(uint32_t strip) {
    first_ = strip * kStrip;
    count_ = std::min(length_ - first_, kStrip);
    vectorCount_ = (count_ + kEncoderLanes - 1) / kEncoderLanes;
    own_ = stream_ + size_t{strip} * model_.width * kStrip;
  }

  /* The residues of a vector that exist. */
  __mmask16 lanes(uint32_t v) const {
    const uint32_t left = count_ - v * kEncoderLanes;
    return left >= kEncoderLanes ? 0xffff : static_cast<__mmask16>((1U << left) - 1);
  }

  /* Norm and `down` of a block, or the vectors after the last one. */
  void next(uint32_t block, float* vectors) {
    __m512 factors[kStripVectors];
    for (uint32_t v = 0; v < vectorCount_; ++v) factors[v] = normFactor(v);
    if (block == model_.blockCount) return project(factors, vectors + size_t{first_} * model_.dimension);
    const EncoderBlock& following = model_.blocks[block];
    for (uint32_t v = 0; v < vectorCount_; ++v) quantise(following, factors[v], v);
    ByteInputs inputs;
    addSteps(inputs, bytes_, kStrip * 4, model_.width);
    layer(following.down, inputs, hidden_[block % 2] + (side_ + first_) * 4, stride_);
  }

  void addLetters() {
    for (uint32_t v = 0; v < vectorCount_; ++v) {
      __m512i places[kMaxEncoderTaps];
      for (uint32_t tap = 0; tap < model_.stemTaps; ++tap) {
        const uint8_t* from = letters_ + side_ + first_ + v * kEncoderLanes + tap - model_.stemTaps / 2;
        places[tap] = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
      }
      __m512 squares[kNormLanes];
      for (__m512& sum : squares) sum = _mm512_setzero_ps();
      for (uint32_t c = 0; c < model_.width; ++c) {
        __m512 sum = letterOf(0, c, places[0]);
        for (uint32_t tap = 1; tap < model_.stemTaps; ++tap) sum = _mm512_add_ps(sum, letterOf(tap, c, places[tap]));
        _mm512_store_ps(own_ + size_t{c} * kStrip + v * kEncoderLanes, sum);
        __m512& square = squares[c % kNormLanes];
        square = _mm512_fmadd_ps(sum, sum, square);
      }
      std::memcpy(squares_[v], squares, sizeof squares);
    }
  }

  __m512 letterOf(uint32_t tap, uint32_t channel, __m512i places) const {
    const float* table = model_.letters + (size_t{tap} * model_.width + channel) * kEncoderLetters;
    return _mm512_permutex2var_ps(_mm512_loadu_ps(table), places, _mm512_loadu_ps(table + kEncoderLanes));
  }

  __m512 normFactor(uint32_t v) const {
    const __m512* sums = squares_[v];
    const auto pair = [sums](uint32_t lane) {
      return _mm512_add_ps(_mm512_add_ps(sums[lane], sums[lane + 4]), _mm512_add_ps(sums[lane + 2], sums[lane + 6]));
    };
    const __m512 mean = _mm512_div_ps(_mm512_add_ps(pair(0), pair(1)), _mm512_set1_ps(float(model_.width)));
    const __m512 root = _mm512_sqrt_ps(_mm512_add_ps(mean, _mm512_set1_ps(model_.epsilon)));
    return _mm512_div_ps(_mm512_set1_ps(1), root);
  }

  void quantise(const EncoderBlock& block, __m512 factor, uint32_t v) {
    const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(block.zero));
    for (uint32_t c = 0; c < model_.width; c += 4) {
      __m512i steps[4];
      for (uint32_t k = 0; k < 4; ++k) {
        const __m512 value = _mm512_load_ps(own_ + size_t{c + k} * kStrip + v * kEncoderLanes);
        const __m512 scaled = _mm512_mul_ps(_mm512_mul_ps(value, factor), _mm512_set1_ps(block.gamma[c + k]));
        steps[k] = _mm512_cvtps_epi32(scaled);
      }
      _mm512_store_si512(bytes_ + size_t{c} * kStrip + v * 64, quadsOf(steps, zero));
    }
  }

  /* Packs four channels into quads: each value + zero, from 0 to 255. */
  static __m512i quadsOf(const __m512i (&values)[4], __m512i zero) {
    // In each 128 bits: four residues of the first channel, then of the second …
    const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(values[0], values[1]), zero);
    const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(values[2], values[3]), zero);
    const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    return _mm512_shuffle_epi8(_mm512_packus_epi16(low, high), order);
  }

  /* Appends the steps of some channels, whose quads begin at `from`. */
  static void addSteps(ByteInputs& inputs, const uint8_t* from, size_t stride, uint32_t channels, bool isFirst = true) {
    if (isFirst) inputs.stepCount = 0;
    inputs.stride = stride;
    for (uint32_t c = 0; c < channels; c += kEncoderStep) inputs.steps[inputs.stepCount++] = from + c / 4 * stride;
  }

  /* Writes the bytes of a layer as quads, `stride` bytes apart; 0 for residues beyond the last. */
  void layer(const ByteLayer& layer, const ByteInputs& inputs, uint8_t* to, size_t stride) {
    const __m512i zero = _mm512_setzero_si512();
    for (uint32_t c = 0; c < layer.weights.outputs; c += kPanelRows) {
      multiply(layer.weights, inputs, c);
      for (uint32_t k = 0; k < kPanelRows; k += 4) {
        for (uint32_t v = 0; v < vectorCount_; ++v) {
          __m512i values[4];
          for (uint32_t i = 0; i < 4; ++i) {
            const __m512i sum = _mm512_add_epi32(panelOf(k + i, v), _mm512_set1_epi32(layer.bias[c + k + i]));
            const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(layer.scales[c + k + i]));
            values[i] = _mm512_cvtps_epi32(scaled);
          }
          const __m512i quads = _mm512_maskz_mov_epi32(lanes(v), quadsOf(values, zero));
          _mm512_storeu_si512(to + size_t{(c + k) / 4} * stride + v * 64, quads);
        }
      }
    }
  }

  void addBlock(const EncoderBlock& block, const uint8_t* hidden) {
    ByteInputs inputs;
    for (uint32_t tap = 0; tap < model_.mixTaps; ++tap) {
      const size_t place = side_ + first_ + tap * block.dilation - model_.mixTaps / 2 * block.dilation;
      addSteps(inputs, hidden + place * 4, stride_, model_.inner, tap == 0);
    }
    layer(block.mix, inputs, mixed_, kStrip * 4);
    addSteps(inputs, mixed_, kStrip * 4, model_.inner);
    for (uint32_t v = 0; v < vectorCount_; ++v) {
      for (__m512& sum : squares_[v]) sum = _mm512_setzero_ps();
    }
    for (uint32_t c = 0; c < model_.width; c += kPanelRows) {
      multiply(block.up, inputs, c);
      for (uint32_t v = 0; v < vectorCount_; ++v) addUp(block, c, v);
    }
  }

  void addUp(const EncoderBlock& block, uint32_t c, uint32_t v) {
    __m512 squares[kNormLanes];
    std::memcpy(squares, squares_[v], sizeof squares);
#pragma GCC unroll 32
    for (uint32_t k = 0; k < kPanelRows; ++k) {
      float* place = own_ + size_t{c + k} * kStrip + v * kEncoderLanes;
      const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(panelOf(k, v)), _mm512_set1_ps(block.upScales[c + k]));
      const __m512 added = _mm512_add_ps(scaled, _mm512_set1_ps(block.upBias[c + k]));
      const __m512 sum = _mm512_add_ps(_mm512_load_ps(place), added);
      _mm512_store_ps(place, sum);
      squares[k % kNormLanes] = _mm512_fmadd_ps(sum, sum, squares[k % kNormLanes]);
    }
    std::memcpy(squares_[v], squares, sizeof squares);
  }

  void multiply(const ByteWeights& weights, const ByteInputs& inputs, uint32_t firstOutput) {
    const int8_t* own = weights.packed + size_t{firstOutput} * weights.inputs;
    if (vectorCount_ == 4) return products_.template multiply<4>(own, inputs, panel_);
    if (vectorCount_ == 3) return products_.template multiply<3>(own, inputs, panel_);
    if (vectorCount_ == 2) return products_.template multiply<2>(own, inputs, panel_);
    products_.template multiply<1>(own, inputs, panel_);
  }

  __m512i panelOf(uint32_t row, uint32_t v) const {
    return _mm512_load_si512(panel_ + row * kStrip + v * kEncoderLanes);
  }

  /* Writes unit vectors of the strip's residues, [count × dimension]. */
  void project(const __m512 (&factors)[kStripVectors], float* vectors) {
    for (uint32_t c = 0; c < model_.width; ++c) {
      for (uint32_t v = 0; v < vectorCount_; ++v) {
        float* place = own_ + size_t{c} * kStrip + v * kEncoderLanes;
        const __m512 normed = _mm512_mul_ps(_mm512_load_ps(place), factors[v]);
        _mm512_store_ps(place, _mm512_mul_ps(normed, _mm512_set1_ps(model_.gamma[c])));
      }
    }
    for (uint32_t v = 0; v < vectorCount_; ++v) {
      __m512 squares = _mm512_setzero_ps();
      for (uint32_t d = 0; d < model_.dimension; d += kProjected) {
        __m512 sums[kProjected];
        projectSome(v, d, sums);
        for (uint32_t k = 0; k < kProjected; ++k) {
          _mm512_store_ps(rows_ + size_t{d + k} * kStrip + v * kEncoderLanes, sums[k]);
          squares = _mm512_add_ps(squares, _mm512_mul_ps(sums[k], sums[k]));
        }
      }
      const __m512 divisor = _mm512_max_ps(_mm512_sqrt_ps(squares), _mm512_set1_ps(model_.leastLength));
      for (uint32_t d = 0; d < model_.dimension; ++d) {
        float* place = rows_ + size_t{d} * kStrip + v * kEncoderLanes;
        _mm512_store_ps(place, _mm512_div_ps(_mm512_load_ps(place), divisor));
      }
    }
    for (uint32_t r = 0; r < count_; ++r) {
      for (uint32_t d = 0; d < model_.dimension; ++d) vectors[size_t{r} * model_.dimension + d] = rows_[d * kStrip + r];
    }
  }

  void projectSome(uint32_t v, uint32_t d, __m512 (&sums)[kProjected]) const {
    for (__m512& sum : sums) sum = _mm512_setzero_ps();
    for (uint32_t c = 0; c < model_.width; ++c) {
      const __m512 value = _mm512_load_ps(own_ + size_t{c} * kStrip + v * kEncoderLanes);
      const float* weights = model_.projection + size_t{c} * model_.dimension + d;
#pragma GCC unroll 8
      for (uint32_t k = 0; k < kProjected; ++k) sums[k] = _mm512_fmadd_ps(value, _mm512_set1_ps(weights[k]), sums[k]);
    }
  }

  const EncoderWeights& model_;
  uint32_t length_, stripCount_, side_ = 0;
  size_t stride_ = 0;
  /** [strips][width][kStrip] */
  float* stream_;
  /** `down` of this block and of the next one, [inner ÷ 4] quads of all residues, zeros on both sides. */
  uint8_t* hidden_[2];
  uint8_t* bytes_;
  uint8_t* mixed_;
  float* rows_;
  uint8_t* letters_;

  // The current strip.
  uint32_t first_ = 0, count_ = 0, vectorCount_ = 0;
  float* own_ = nullptr;
  __m512 squares_[kStripVectors][kNormLanes];
  alignas(64) int32_t panel_[kPanelRows * kStrip];
  Products products_;
};

}  // namespace
}  // namespace gloaming

#endif
