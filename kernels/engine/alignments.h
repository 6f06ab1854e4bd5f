/* Several alignments of one pair, by the score and path kernels of a table. */
#ifndef GLOAMING_ALIGNMENTS_H
#define GLOAMING_ALIGNMENTS_H

#include "reference/reference.h"

namespace gloaming {

/* The alignments of reference/alignments.cpp, bit for bit.
 *
 * Range   leastScore 1 or more; maxCount 1..kMaxAlignments
 * Errors  std::bad_alloc. After cancellation the result is void
 * Cost    one alignment, then scores of the free rectangles: at most twice the cells of the pair for the second
 *         alignment. Rectangles that score below leastScore are given up, so a pair without a second alignment costs
 *         no more than that
 */
AlignmentList affineAlignAll(const Kernels& kernels, const AffineTask& task, int32_t leastScore, uint32_t maxCount);

}  // namespace gloaming

#endif
