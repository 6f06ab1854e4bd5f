/* The AVX-512 VNNI table's functions, defined in maxsim.cpp and affine.cpp of this folder. */
#ifndef GLOAMING_AVX512_H
#define GLOAMING_AVX512_H

#include "kernels.h"

namespace gloaming {

size_t avx512MaxsimPackedBytes(uint32_t length, uint32_t dimension);
void avx512MaxsimPack(const Tokens& query, void* packed);
int32_t avx512MaxsimRows(const PackedQuery& query, const int8_t* rows, uint32_t rowCount, int32_t* closest);

size_t avx512AffinePackedBytes(uint32_t length, uint32_t dimension);
void avx512AffinePack(const AffineQuery& query, void* packed);
int32_t avx512AffineScore(const AffineTask& task);
AffineAlignment avx512AffineAlign(const AffineTask& task);

}  // namespace gloaming

#endif
