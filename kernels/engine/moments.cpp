#include "engine/moments.h"

namespace gloaming {

std::vector<int32_t> secondMoments(const int8_t* rows, uint32_t count, uint32_t dimension) {
  // Transposed, so that each product of two columns is a sum over contiguous int16, which compilers vectorize. Integer
  // sums are exact in any order.
  std::vector<int16_t> columns(size_t{count} * dimension);
  for (uint32_t row = 0; row < count; ++row) {
    for (uint32_t d = 0; d < dimension; ++d) columns[size_t{d} * count + row] = rows[size_t{row} * dimension + d];
  }
  std::vector<int32_t> products;
  products.reserve(size_t{dimension} * (dimension + 1) / 2);
  for (uint32_t a = 0; a < dimension; ++a) {
    for (uint32_t b = a; b < dimension; ++b) {
      const int16_t* first = columns.data() + size_t{a} * count;
      const int16_t* second = columns.data() + size_t{b} * count;
      int32_t sum = 0;
      for (uint32_t row = 0; row < count; ++row) sum += first[row] * second[row];
      products.push_back(sum);
    }
  }
  return products;
}

}  // namespace gloaming
