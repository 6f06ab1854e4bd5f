#include "reference/reference.h"

namespace gloaming {

/* Second moments of a protein's tokens: the sum of the outer products of its rows, upper triangle.
 *
 * Shape   rows int8 [count × dimension], row-major; products [dimension × (dimension + 1) ÷ 2], the triangle by rows:
 *         (0,0), (0,1), …, (0,dimension − 1), (1,1), …
 * Range   at most kMaxLength rows: a sum is within ±65,535 × 2^14 = ±1,073,725,440, less than 2^31
 * Unit    sums of int8 products
 * Order   none: integer arithmetic
 */
void referenceSecondMoments(const int8_t* rows, uint32_t count, uint32_t dimension, int32_t* products) {
  for (uint32_t a = 0; a < dimension; ++a) {
    for (uint32_t b = a; b < dimension; ++b) {
      int32_t sum = 0;
      for (uint32_t row = 0; row < count; ++row) {
        const int8_t* values = rows + size_t{row} * dimension;
        sum += values[a] * values[b];
      }
      *products++ = sum;
    }
  }
}

}  // namespace gloaming
