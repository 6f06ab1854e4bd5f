/* Profile score: the constants of the score of two profiles alone, whose columns support each other.
 *
 * Columns of homologs are alike in a row, and columns that are alike by chance are not. So a pair of columns counts for
 * more where those before it on its diagonal are alike, too. HH-suite adds such a term to the score of a finished
 * alignment (Soeding 2005); here it is part of the pairs that are aligned. Numbers are 16ths of a bit:
 *
 *   s(i,j) = (L >> 6) − kProfileOffset                     L of kernels.h; s is about log2(Σ q p ÷ background) + .2
 *   c(i,j) = max(s(i,j), kLeastSupport)
 *   R(i,j) = R(i−1,j−1) − (R(i−1,j−1) >> kDecayShift) + (c(i,j) << kSupportShift)       R = 0 outside the matrix
 *   pair   = H(i−1,j−1) + s(i,j) + (((c(i,j) << kPartnerShift) × R(i−1,j−1)) >> 16)
 *
 * Range  s −125..115, c −48..115. R is a sum over the diagonal with falling weights: −6,144..14,723. The product of two
 *        16-bit values gives −135..413, so that all fit in 16 bits. H ends at kMostProfileScore
 * Source the constants found most superfamily relatives of 160 labelled domains (src/search/README.md) */
#ifndef GLOAMING_PROFILE_SCORE_H
#define GLOAMING_PROFILE_SCORE_H

#include <cstdint>

namespace gloaming {

/** Profile weight (AffineParameters) of s: (L × 1,024) >> 16 = L >> 6. */
constexpr int32_t kProfileWeight = 1'024;
/** Rows of a release's profiles have the dot product 256 × Σ q p ÷ background: 7 bits above that of L are 112. */
constexpr int32_t kProfileOffset = 109;
constexpr int32_t kProfileGapOpen = 96;
constexpr int32_t kProfileGapExtend = 8;
constexpr int32_t kLeastSupport = -48;
constexpr uint32_t kSupportShift = 5;
constexpr uint32_t kPartnerShift = 4;
constexpr uint32_t kDecayShift = 2;
constexpr int32_t kMostProfileScore = 32'767;

}  // namespace gloaming

#endif
