#ifndef GLOAMING_MOMENTS_H
#define GLOAMING_MOMENTS_H

#include <vector>

#include "kernels.h"

namespace gloaming {

/*
 * Second moments of a protein's tokens, as referenceSecondMoments defines them. The significance calibration uses them.
 * Shape  rows int8 [count × dimension], row-major; result [dimension × (dimension + 1) ÷ 2], the upper triangle by rows
 * Range  at most kMaxLength rows: 65,535 × 2^14 < 2^31
 */
std::vector<int32_t> secondMoments(const int8_t* rows, uint32_t count, uint32_t dimension);

}  // namespace gloaming

#endif
