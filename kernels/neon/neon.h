/* The NEON table's functions, from maxsim.cpp and affine.cpp of this folder; they need the dot product extension. */
#ifndef GLOAMING_NEON_H
#define GLOAMING_NEON_H

#include "kernels.h"

namespace gloaming {

size_t neonMaxsimPackedBytes(uint32_t length, uint32_t dimension);
void neonMaxsimPack(const Tokens& query, void* packed);
int32_t neonMaxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest);

size_t neonAffinePackedBytes(uint32_t length, uint32_t dimension);
void neonAffinePack(const AffineQuery& query, void* packed);
int32_t neonAffineScore(const AffineTask& task);
AffineAlignment neonAffineAlign(const AffineTask& task);
void neonKmerRows(const KmerTable& table, const uint8_t* letters, uint32_t count, uint32_t first, Stretch* stretches,
                  uint32_t* best);

}  // namespace gloaming

#endif
