#include "engine/evidence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/store.h"

namespace gloaming {

std::vector<uint32_t> bestByRanks(const double* values, uint32_t orders, uint32_t items, uint32_t most) {
  if (std::any_of(values, values + size_t{orders} * items, [](double value) { return std::isnan(value); })) {
    throw ShapeError("a value has no rank");
  }
  struct Placed {
    double value;
    uint32_t place;
  };
  std::vector<Placed> order(items);
  // Ranks are whole numbers below 2^32, so that the products of a few orders are exact or rounded alike everywhere.
  std::vector<double> products(items, 1);
  for (uint32_t k = 0; k < orders; ++k) {
    for (uint32_t place = 0; place < items; ++place) order[place] = {values[size_t{k} * items + place], place};
    std::sort(order.begin(), order.end(), [](const Placed& a, const Placed& b) { return a.value > b.value; });
    for (uint32_t first = 0, end = 0; first < items; first = end) {
      while (end < items && order[end].value == order[first].value) ++end;
      for (uint32_t at = first; at < end; ++at) products[order[at].place] *= end;
    }
  }
  std::vector<uint32_t> places(items);
  std::iota(places.begin(), places.end(), 0);
  const auto last = places.begin() + static_cast<ptrdiff_t>(std::min(most, items));
  std::partial_sort(places.begin(), last, places.end(), [&products](uint32_t a, uint32_t b) {
    return products[a] != products[b] ? products[a] < products[b] : a < b;
  });
  places.erase(last, places.end());
  return places;
}

}  // namespace gloaming
