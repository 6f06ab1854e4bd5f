/* Encoders with AVX-512 VNNI: each quad of weights is multiplied with the quads of up to 64 residues. */
#include "avx512/encoder.h"

#include "avx512/avx512.h"
#include "avx512/vnni.h"

namespace gloaming {
namespace {

/* Sums of one output for `vectors` × 16 residues. Its loops are unrolled by templates: GCC 12 keeps arrays that loops
 * index in memory. */
template <size_t... vectors>
struct RowSums {
  __m512i sums[sizeof...(vectors)];

  inline __attribute__((always_inline)) RowSums() { ((sums[vectors] = _mm512_setzero_si512()), ...); }
  inline __attribute__((always_inline)) void add(const __m512i (&bytes)[sizeof...(vectors)], const int8_t* weights) {
    const __m512i weight = _mm512_set1_epi32(loadQuad(weights));
    (multiplyAdd(sums[vectors], bytes[vectors], weight), ...);
  }
  inline __attribute__((always_inline)) void store(int32_t* to) const {
    (_mm512_store_si512(to + vectors * kEncoderLanes, sums[vectors]), ...);
  }
};

/* panel [4 × kStrip] = four rows of weights × inputs */
template <size_t... vectors>
void multiplyFour(const int8_t* weights, const ByteInputs& inputs, int32_t* panel, std::index_sequence<vectors...>) {
  RowSums<vectors...> a, b, c, d;
  for (uint32_t step = 0; step < inputs.stepCount; ++step) {
    const uint8_t* quads = inputs.steps[step];
    const int8_t* own = weights + size_t{step} * kEncoderRows * kEncoderStep;
    for (uint32_t quad = 0; quad < kEncoderStep; quad += 4, quads += inputs.stride) {
      const __m512i bytes[] = {_mm512_loadu_si512(quads + vectors * 64)...};
      a.add(bytes, own + quad);
      b.add(bytes, own + kEncoderStep + quad);
      c.add(bytes, own + 2 * kEncoderStep + quad);
      d.add(bytes, own + 3 * kEncoderStep + quad);
    }
  }
  a.store(panel);
  b.store(panel + kStrip);
  c.store(panel + 2 * kStrip);
  d.store(panel + 3 * kStrip);
}

struct VnniProducts {
  /* panel [kPanelRows × kStrip] = weights × inputs of `vectors` × 16 residues */
  template <uint32_t vectors>
  void multiply(const int8_t* weights, const ByteInputs& inputs, int32_t* panel) const {
    const size_t blockBytes = size_t{inputs.stepCount} * kEncoderRows * kEncoderStep;
    for (uint32_t row = 0; row < kPanelRows; row += 4) {
      const int8_t* own = weights + row / kEncoderRows * blockBytes + row % kEncoderRows * kEncoderStep;
      multiplyFour(own, inputs, panel + row * kStrip, std::make_index_sequence<vectors>());
    }
  }
};

}  // namespace

void avx512Encode(const EncoderWeights& model, const uint8_t* letters, uint32_t length, Workspace& workspace,
                  float* vectors) {
  StripEncoder<VnniProducts>(model, length, workspace).run(letters, vectors);
}

}  // namespace gloaming
