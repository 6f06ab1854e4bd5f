/* The AVX2 table's functions, defined in maxsim.cpp and affine.cpp of this folder. */
#ifndef GLOAMING_AVX2_H
#define GLOAMING_AVX2_H

#include "kernels.h"

namespace gloaming {

size_t avx2MaxsimPackedBytes(uint32_t length, uint32_t dimension);
void avx2MaxsimPack(const Tokens& query, void* packed);
int32_t avx2MaxsimRows(const PackedQuery& query, const int8_t* rows, uint32_t rowCount, int32_t* closest);

size_t avx2AffinePackedBytes(uint32_t length, uint32_t dimension);
void avx2AffinePack(const AffineQuery& query, void* packed);
int32_t avx2AffineScore(const AffineTask& task);
AffineAlignment avx2AffineAlign(const AffineTask& task);

}  // namespace gloaming

#endif
