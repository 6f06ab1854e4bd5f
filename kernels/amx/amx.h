/* The AMX table's functions, defined in maxsim.cpp and affine_batch.cpp of this folder. Its packed affine queries,
 * single scores, alignments and profile scores are those of AVX-512 VNNI. */
#ifndef GLOAMING_AMX_H
#define GLOAMING_AMX_H

#include "kernels.h"

namespace gloaming {

size_t amxMaxsimPackedBytes(uint32_t length, uint32_t dimension);
void amxMaxsimPack(const Tokens& query, void* packed);
int32_t amxMaxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest);
void amxAffineScores(const AffineTask* tasks, uint32_t count, int32_t* scores);
void amxAffineMeasures(const AffineTask* tasks, uint32_t count, int32_t* scores, PairSums* sums);
void amxEncode(const EncoderWeights& model, const uint8_t* letters, uint32_t length, Workspace& workspace,
               float* vectors);

/* Whether the processor has int8 tiles and the system permits their use. Requests the permission once. */
bool canUseTiles();

}  // namespace gloaming

#endif
