/* What affine scores are cut into before anything is launched: the packed query, slices of the list, panels. */
#ifndef GLOAMING_CUDA_AFFINE_PLAN_H
#define GLOAMING_CUDA_AFFINE_PLAN_H

#include <vector>

#include "cuda/affine.h"
#include "kernels.h"

namespace gloaming {
namespace cuda {

/* Whole strips, as affineQueryOffset says; rows that are missing in the last one repeat the last row. */
std::vector<uint8_t> packAffineQuery(const Tokens& query);

/* What each row of the query scores with each letter, as affineLetterOffset says; 0 where letters score nothing.
 * Shape  letters [query.length], each below kLetterCount */
std::vector<uint8_t> packLetterScores(const AffineParameters& parameters, const uint8_t* letters, const Tokens& query);

/** Neighbouring items that share launches; a search may be cancelled between two of them. */
struct AffineSlice {
  uint32_t firstItem, endItem;
  /** Rows of these items; strips of a launch. */
  uint32_t columns, panelStrips;
};

/* Slices whose edges have room, with panels that take some milliseconds each.
 * Shape  lengths: rows of each item, descending */
std::vector<AffineSlice> planAffine(const std::vector<uint32_t>& lengths, uint32_t queryLength, uint32_t dimension,
                                    uint32_t multiprocessors);

}  // namespace cuda
}  // namespace gloaming

#endif
