/* Products of an encoder's bytes by tiles: a tile of weights of 16 outputs times tiles of quads of 16 residues each. */
#ifndef GLOAMING_AMX_ENCODER_H
#define GLOAMING_AMX_ENCODER_H

#include "amx/tiles.h"
#include "avx512/encoder.h"

namespace gloaming {
namespace {

/** All tiles have 16 rows of 64 bytes. */
inline const TileShapes& encoderShapes() {
  static const TileShapes shapes = [] {
    TileShapes all;
    for (uint32_t tile = 0; tile < 8; ++tile) all.set(tile, 16, 64);
    return all;
  }();
  return shapes;
}

template <class TileSet>
class TileProducts {
 public:
  TileProducts() : tiles_(encoderShapes()) {}

  /* panel [kPanelRows × kStrip] = weights × inputs of `vectors` × 16 residues. Two tiles of weights times two of quads
   * at a time: loads of tiles take longer than their products. */
  template <uint32_t vectors>
  void multiply(const int8_t* weights, const ByteInputs& inputs, int32_t* panel) {
    multiplyPair<0, (vectors > 1)>(weights, inputs, panel);
    if constexpr (vectors > 2) multiplyPair<2, (vectors > 3)>(weights, inputs, panel);
  }

 private:
  template <uint32_t first, bool hasSecond>
  void multiplyPair(const int8_t* weights, const ByteInputs& inputs, int32_t* panel) {
    tiles_.template zero<0>();
    tiles_.template zero<1>();
    if constexpr (hasSecond) tiles_.template zero<2>();
    if constexpr (hasSecond) tiles_.template zero<3>();
    const size_t blockBytes = size_t{inputs.stepCount} * kEncoderRows * kEncoderStep;
    for (uint32_t step = 0; step < inputs.stepCount; ++step, weights += kEncoderRows * kEncoderStep) {
      const uint8_t* quads = inputs.steps[step] + first * 64;
      tiles_.template load<4>(weights, kEncoderStep);
      tiles_.template load<6>(quads, inputs.stride);
      tiles_.template multiplyAddUnsigned<0, 4, 6>();
      tiles_.template load<5>(weights + blockBytes, kEncoderStep);
      tiles_.template multiplyAddUnsigned<1, 5, 6>();
      if constexpr (!hasSecond) continue;
      tiles_.template load<7>(quads + 64, inputs.stride);
      tiles_.template multiplyAddUnsigned<2, 4, 7>();
      tiles_.template multiplyAddUnsigned<3, 5, 7>();
    }
    constexpr size_t kRowBytes = kStrip * sizeof(int32_t);
    int32_t* second = panel + kEncoderRows * kStrip;
    tiles_.template store<0>(panel + first * kEncoderLanes, kRowBytes);
    tiles_.template store<1>(second + first * kEncoderLanes, kRowBytes);
    if constexpr (hasSecond) tiles_.template store<2>(panel + (first + 1) * kEncoderLanes, kRowBytes);
    if constexpr (hasSecond) tiles_.template store<3>(second + (first + 1) * kEncoderLanes, kRowBytes);
  }

  TileSet tiles_;
};

}  // namespace
}  // namespace gloaming

#endif
