/* The AVX2 table's functions, defined in maxsim.cpp, affine.cpp and affine_batch.cpp of this folder. */
#ifndef GLOAMING_AVX2_H
#define GLOAMING_AVX2_H

#include "kernels.h"

namespace gloaming {

size_t avx2MaxsimPackedBytes(uint32_t length, uint32_t dimension);
void avx2MaxsimPack(const Tokens& query, void* packed);
void avx2MaxsimPrepare(const int8_t* rows, uint32_t rowCount, uint32_t dimension, void* prepared);
int32_t avx2MaxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest);

size_t avx2AffinePackedBytes(uint32_t length, uint32_t dimension);
void avx2AffinePack(const AffineQuery& query, void* packed);
int32_t avx2AffineScore(const AffineTask& task);
void avx2AffineScores(const AffineTask* tasks, uint32_t count, int32_t* scores);
void avx2AffineMeasures(const AffineTask* tasks, uint32_t count, int32_t* scores, PairSums* sums);
void avx2ProfileScores(const AffineTask* tasks, uint32_t count, int32_t* scores);
AffineAlignment avx2AffineAlign(const AffineTask& task);

/* A packed affine query has two parts: first that of wavefront.h, then that of batch.h, which affineScores reads. */
size_t avx2WavefrontPackedBytes(uint32_t length, uint32_t dimension);
size_t avx2BatchPackedBytes(uint32_t length, uint32_t dimension);
void avx2BatchPack(const AffineQuery& query, void* packed);

void avx2CodedRows(const TableRow* table, const uint16_t* codes, uint32_t count, uint8_t floor,
                   const Diagonals& diagonals, uint16_t* halves, uint32_t halfCount, uint32_t* excess, uint32_t* votes);

void avx2KmerRows(const KmerTable& table, const uint8_t* letters, uint32_t count, uint32_t first, Stretch* stretches,
                  uint32_t* best);

}  // namespace gloaming

#endif
