/* Affine scores of many targets with AMX. */
#include "amx/amx.h"
#include "amx/columns.h"
#include "avx512/avx512.h"

namespace gloaming {

void amxAffineScores(const AffineTask* tasks, uint32_t count, int32_t* scores) {
  scoreBatch<TileLanes<Tiles>>(tasks, count, avx512WavefrontPackedBytes, avx512AffineScore, scores);
}

void amxAffineMeasures(const AffineTask* tasks, uint32_t count, int32_t* scores, PairSums* sums) {
  measureBatch<TileLanes<Tiles>>(tasks, count, avx512WavefrontPackedBytes, avx512AffineScore, scores, sums);
}

}  // namespace gloaming
