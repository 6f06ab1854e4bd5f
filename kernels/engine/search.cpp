#include "engine/search.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace gloaming {
namespace {

/* Checks the norms of the first `width` values of each row. */
void checkNorms(const Tokens& rows, uint32_t width, const char* what) {
  for (uint32_t i = 0; i < rows.length; ++i) {
    const int8_t* row = rows.values + size_t{i} * rows.dimension;
    int32_t norm = 0;
    for (uint32_t k = 0; k < width; ++k) norm += row[k] * row[k];
    if (norm > INT16_MAX) {
      throw ShapeError(what + std::to_string(i) + " has squared norm " + std::to_string(norm) + ", above 32,767");
    }
  }
}

}  // namespace

OwnedQuery::OwnedQuery(const int8_t* values, size_t count, uint32_t length, uint32_t dimension)
    : length_(length), dimension_(dimension) {
  if (length == 0 || length > kMaxLength) {
    throw ShapeError("a query must have 1 to 65,535 rows, this one has " + std::to_string(length));
  }
  if (count != size_t{length} * dimension) {
    throw ShapeError("the query has " + std::to_string(count) + " values, " + std::to_string(length) + " rows of " +
                     std::to_string(dimension) + " need " + std::to_string(size_t{length} * dimension));
  }
  checkNorms({values, length, dimension}, dimension, "query row ");
  values_.assign(values, values + count);
}

void OwnedQuery::setProfile(const int8_t* values, size_t count) {
  if (count != size_t{length_} * kProfileWidth) {
    throw ShapeError("the query's profile has " + std::to_string(count) + " values, " + std::to_string(length_) +
                     " rows need " + std::to_string(size_t{length_} * kProfileWidth));
  }
  for (const int8_t* row = values; row < values + count; row += kProfileWidth) {
    if (std::any_of(row, row + kProfileValues, [](int8_t value) { return value < 0; })) {
      throw ShapeError("a profile has no values below 0");
    }
  }
  checkNorms({values, length_, kProfileWidth}, kProfileValues, "profile row ");
  profile_.assign(values, values + count);
}

void OwnedQuery::allocate(size_t bytes) {
  packed_.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  if (packed_ == nullptr) throw std::bad_alloc();
}

void OwnedQuery::Free::operator()(void* memory) const { std::free(memory); }

void Search::checkTargets(const std::vector<uint32_t>& targets, bool ascending, uint32_t targetCount) {
  for (size_t item = 0; item < targets.size(); ++item) {
    if (targets[item] >= targetCount) {
      throw ShapeError("item " + std::to_string(item) + " of the list is target " + std::to_string(targets[item]) +
                       " of " + std::to_string(targetCount));
    }
    if (ascending && item > 0 && targets[item] <= targets[item - 1]) {
      throw ShapeError("the eligible list must ascend, item " + std::to_string(item) + " does not");
    }
  }
}

}  // namespace gloaming
