#ifndef GLOAMING_EVIDENCE_H
#define GLOAMING_EVIDENCE_H

#include <cstdint>
#include <vector>

namespace gloaming {

/*
 * Places of the best items by the product of their ranks in several orders. The rank of an item is the number of items
 * with at least its value, so that equal values share the last of their ranks.
 * Shape   values [orders × items], row-major
 * Range   min(most, items) places, least product first, equal products by ascending place
 * Errors  ShapeError where a value is no number
 */
std::vector<uint32_t> bestByRanks(const double* values, uint32_t orders, uint32_t items, uint32_t most);

}  // namespace gloaming

#endif
