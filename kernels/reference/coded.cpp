#include "reference/reference.h"

namespace gloaming {

/* What rows of a target, given as codes, say of each query: how close they are to it, and how far above the floor.
 *
 * Shape   table [kCodeCount × kCodedQueries], row-major; closeness, excess [kCodedQueries], which are added to
 * Unit    that of the table: 128ths of integer dot products (engine/coded_search.h)
 * Order   none: integer arithmetic
 */
void referenceCodedRows(const uint8_t* table, const uint16_t* codes, uint32_t count, uint8_t floor, uint32_t* closeness,
                        uint32_t* excess) {
  for (uint32_t row = 0; row < count; ++row) {
    const uint8_t* values = table + size_t{codes[row]} * kCodedQueries;
    for (uint32_t query = 0; query < kCodedQueries; ++query) {
      closeness[query] += values[query];
      if (values[query] > floor) excess[query] += static_cast<uint32_t>(values[query] - floor);
    }
  }
}

}  // namespace gloaming
