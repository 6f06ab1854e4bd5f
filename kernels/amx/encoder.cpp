/* Encoders with AMX's int8 tiles. */
#include "amx/encoder.h"

#include "amx/amx.h"

namespace gloaming {

void amxEncode(const EncoderWeights& model, const uint8_t* letters, uint32_t length, Workspace& workspace,
               float* vectors) {
  StripEncoder<TileProducts<Tiles>>(model, length, workspace).run(letters, vectors);
}

}  // namespace gloaming
