#include "reference/reference.h"

namespace gloaming {

/* Adds to closeness and excess of each query the table's value, and max(0, value − floor), of each row of a target.
 *
 * Shape   table [kCodeCount × kCodedQueries], row-major; codes [count], centroid ids; closeness, excess [kCodedQueries]
 * Range   table and floor 0..255; count 1..65,535, so a sum grows by at most 65,535 × 255 < 2^32
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
