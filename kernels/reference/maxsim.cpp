#include "reference/reference.h"

namespace gloaming {

/* Without sanitizers, under which it would take most of the time of all tests. Kernels read the same rows with them. */
__attribute__((no_sanitize("address", "undefined", "thread"))) int32_t dotProduct(const int8_t* a, const int8_t* b,
                                                                                  uint32_t dimension) {
  int32_t sum = 0;
  for (uint32_t k = 0; k < dimension; ++k) sum += a[k] * b[k];
  return sum;
}

namespace {

/* Best dot product of one token with the tokens of another protein. */
int32_t bestDotProduct(const Tokens& from, uint32_t token, const Tokens& to) {
  const int8_t* own = from.values + size_t{token} * from.dimension;
  int32_t best = INT32_MIN;
  for (uint32_t j = 0; j < to.length; ++j) {
    const int32_t dot = dotProduct(own, to.values + size_t{j} * to.dimension, from.dimension);
    if (dot > best) best = dot;
  }
  return best;
}

}  // namespace

/* Sums, in both directions, of each token's best dot product with the other protein's tokens: the definition.
 *
 * Shape   query [queryLength × dimension], target [targetLength × dimension], int8, row-major
 * Range   squared norm of each row ≤ 32,767, so that every dot product fits in int16; lengths 1..65,535
 * Unit    sums of int8 products; they become cosines only in search/maxsim.ts
 * Order   none: integer arithmetic, any summation order gives the same bits
 * Cost    queryLength × targetLength × dimension multiply-adds, twice
 * Source  late interaction (Khattab & Zaharia 2020), both directions
 */
MaxSim maxsimReference(const Tokens& query, const Tokens& target) {
  const auto sumOfMaxima = [](const Tokens& from, const Tokens& to) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < from.length; ++i) sum += bestDotProduct(from, i, to);
    return sum;
  };
  return {sumOfMaxima(query, target), sumOfMaxima(target, query)};
}

/* Excess of a query over a target: the sum over query tokens of max(0, best dot product − floor).
 *
 * Shape   query [queryLength × dimension], target [targetLength × dimension], int8, row-major
 * Range   floor −32,767..32,767 and best dot products within ±32,767, so a term is 0..65,534. The sum fits in int32 if
 *         floor ≥ 0 and queryLength ≤ 65,535
 * Unit    sum of int8 products
 */
int32_t excessReference(const Tokens& query, const Tokens& target, int32_t floor) {
  int32_t excess = 0;
  for (uint32_t i = 0; i < query.length; ++i) excess += excessOver(floor, bestDotProduct(query, i, target));
  return excess;
}

int32_t excessOver(int32_t floor, int32_t best) { return best > floor ? best - floor : 0; }

/* maxsimRows of struct Kernels (kernels.h): the same sums for some rows of a target. */
int32_t referenceMaxsimRows(const PackedQuery& query, const void* stored, uint32_t rowCount, int32_t* closest) {
  const auto [values, length, dimension] = query.tokens;
  const auto* rows = static_cast<const int8_t*>(stored);
  int32_t sum = 0;
  for (uint32_t j = 0; j < rowCount; ++j) {
    int32_t best = INT32_MIN;
    for (uint32_t i = 0; i < length; ++i) {
      const int32_t dot = dotProduct(values + size_t{i} * dimension, rows + size_t{j} * dimension, dimension);
      if (dot > best) best = dot;
      if (dot > closest[i]) closest[i] = dot;
    }
    sum += best;
  }
  return sum;
}

}  // namespace gloaming
