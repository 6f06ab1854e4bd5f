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

  /* panel [kEncoderRows × kStrip] = weights × inputs of `vectors` × 16 residues */
  template <uint32_t vectors>
  void multiply(const int8_t* weights, const ByteInputs& inputs, int32_t* panel) {
    tiles_.template zero<0>();
    if constexpr (vectors > 1) tiles_.template zero<1>();
    if constexpr (vectors > 2) tiles_.template zero<2>();
    if constexpr (vectors > 3) tiles_.template zero<3>();
    for (uint32_t step = 0; step < inputs.stepCount; ++step) {
      tiles_.template load<kWeights>(weights + size_t{step} * kEncoderRows * kEncoderStep, kEncoderStep);
      add<0, 5>(inputs, step);
      if constexpr (vectors > 1) add<1, 6>(inputs, step);
      if constexpr (vectors > 2) add<2, 7>(inputs, step);
      if constexpr (vectors > 3) add<3, 5>(inputs, step);
    }
    constexpr size_t kRowBytes = kStrip * sizeof(int32_t);
    tiles_.template store<0>(panel, kRowBytes);
    if constexpr (vectors > 1) tiles_.template store<1>(panel + kEncoderLanes, kRowBytes);
    if constexpr (vectors > 2) tiles_.template store<2>(panel + 2 * kEncoderLanes, kRowBytes);
    if constexpr (vectors > 3) tiles_.template store<3>(panel + 3 * kEncoderLanes, kRowBytes);
  }

 private:
  static constexpr int kWeights = 4;

  template <int vector, int quads>
  void add(const ByteInputs& inputs, uint32_t step) {
    tiles_.template load<quads>(inputs.steps[step] + vector * 64, inputs.stride);
    tiles_.template multiplyAddUnsigned<vector, kWeights, quads>();
  }

  TileSet tiles_;
};

}  // namespace
}  // namespace gloaming

#endif
