/* The AVX-512 VNNI table's functions, defined in maxsim.cpp, affine.cpp and affine_batch.cpp of this folder. */
#ifndef GLOAMING_AVX512_H
#define GLOAMING_AVX512_H

#include "kernels.h"

namespace gloaming {

size_t avx512MaxsimPackedBytes(uint32_t length, uint32_t dimension);
void avx512MaxsimPack(const Tokens& query, void* packed);
void avx512MaxsimPrepare(const int8_t* rows, uint32_t rowCount, uint32_t dimension, void* prepared);
int32_t avx512MaxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest);

size_t avx512AffinePackedBytes(uint32_t length, uint32_t dimension);
void avx512AffinePack(const AffineQuery& query, void* packed);
int32_t avx512AffineScore(const AffineTask& task);
void avx512AffineScores(const AffineTask* tasks, uint32_t count, int32_t* scores);
void avx512AffineMeasures(const AffineTask* tasks, uint32_t count, int32_t* scores, PairSums* sums);
void avx512ProfileScores(const AffineTask* tasks, uint32_t count, int32_t* scores);
AffineAlignment avx512AffineAlign(const AffineTask& task);

void avx512CodedRows(const TableRow* table, const uint16_t* codes, uint32_t count, uint8_t floor,
                     const Diagonals& diagonals, uint16_t* halves, uint32_t halfCount, uint32_t* excess,
                     uint32_t* votes);

/* The same functions with the plain twins of the assembly in tile.h and cells.h, for tests and the bench. */
int32_t avx512PlainMaxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest);
void avx512PlainAffineScores(const AffineTask* tasks, uint32_t count, int32_t* scores);
void avx512PlainAffineMeasures(const AffineTask* tasks, uint32_t count, int32_t* scores, PairSums* sums);
void avx512PlainProfileScores(const AffineTask* tasks, uint32_t count, int32_t* scores);

/* A packed affine query has two parts: first that of wavefront.h, then that of batch.h, which affineScores reads. */
size_t avx512WavefrontPackedBytes(uint32_t length, uint32_t dimension);
size_t avx512BatchPackedBytes(uint32_t length, uint32_t dimension);
void avx512BatchPack(const AffineQuery& query, void* packed);

void avx512Encode(const EncoderWeights& model, const uint8_t* letters, uint32_t length, Workspace& workspace,
                  float* vectors);

void avx512KmerRows(const KmerTable& table, const uint8_t* letters, uint32_t count, uint32_t first, Stretch* stretches,
                    uint32_t* best);

}  // namespace gloaming

#endif
