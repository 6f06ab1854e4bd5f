/* The plan of affine scores before any launch: the packed query, slices of the list, panels. */
#ifndef GLOAMING_CUDA_AFFINE_PLAN_H
#define GLOAMING_CUDA_AFFINE_PLAN_H

#include <vector>

#include "cuda/affine.h"
#include "kernels.h"

namespace gloaming {
namespace cuda {

/* Packs whole strips in the layout of affineQueryOffset; the padding of the last strip repeats the last row. */
std::vector<uint8_t> packAffineQuery(const Tokens& query);

/* Packs the scores of each query row with each letter in the layout of affineLetterOffset; 0 if letters score nothing.
 * Shape  letters [query.length], each below kLetterCount */
std::vector<uint8_t> packLetterScores(const AffineParameters& parameters, const uint8_t* letters, const Tokens& query);

/** Neighbouring items that share launches. A search may be cancelled between two launches. */
struct AffineSlice {
  uint32_t firstItem, endItem;
  /** Number of target rows of these items, and of query strips in one launch. */
  uint32_t columns, panelStrips;
};

/* Cuts items into slices whose edges fit in their memory, with panels of some milliseconds each.
 * Shape  lengths: rows of each item, descending */
std::vector<AffineSlice> planAffine(const std::vector<uint32_t>& lengths, uint32_t queryLength, uint32_t dimension,
                                    uint32_t multiprocessors);

}  // namespace cuda
}  // namespace gloaming

#endif
