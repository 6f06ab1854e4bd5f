/* Defines the affine functions of a table that has batches, from the lanes of wavefront.h in the including file.
 *
 * GLOAMING_AFFINE_EXPORTS(avx2, Narrow, Wide) defines avx2WavefrontPackedBytes, avx2AffinePackedBytes, avx2AffinePack,
 * avx2AffineScore and avx2AffineAlign. avx2/avx2.h declares them, and avx2BatchPackedBytes and avx2BatchPack, which
 * write the second part of a packed query. */
#ifndef GLOAMING_AFFINE_EXPORTS_H
#define GLOAMING_AFFINE_EXPORTS_H

#include "wavefront.h"

#define GLOAMING_AFFINE_EXPORTS(prefix, Narrow, Wide) \
  size_t prefix##WavefrontPackedBytes(uint32_t length, uint32_t dimension) { \
    return wavefrontPackedBytes<Narrow, Wide>({nullptr, length, dimension}); \
  } \
  size_t prefix##AffinePackedBytes(uint32_t length, uint32_t dimension) { \
    return prefix##WavefrontPackedBytes(length, dimension) + prefix##BatchPackedBytes(length, dimension); \
  } \
  void prefix##AffinePack(const AffineQuery& query, void* packed) { \
    const size_t bytes = prefix##WavefrontPackedBytes(query.tokens.length, query.tokens.dimension); \
    wavefrontPack<Narrow, Wide>(query, packed); \
    prefix##BatchPack(query, static_cast<uint8_t*>(packed) + bytes); \
  } \
  int32_t prefix##AffineScore(const AffineTask& task) { return wavefrontScore<Narrow, Wide>(task); } \
  AffineAlignment prefix##AffineAlign(const AffineTask& task) { return wavefrontAlign<Narrow, Wide>(task); }

#endif
