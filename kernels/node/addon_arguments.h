/* Converts and copies arguments from JavaScript; a part of addon.cpp.
 * Errors  ShapeError that names the invalid argument */
#ifndef GLOAMING_ADDON_ARGUMENTS_H
#define GLOAMING_ADDON_ARGUMENTS_H

#include <napi.h>

#include <optional>

#include "engine/search.h"

namespace gloaming {

template <class Array>
Array typedArray(const Napi::Value& value, napi_typedarray_type type, const char* what) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) {
    throw ShapeError(std::string(what) + " must be a typed array of the documented kind");
  }
  return value.As<Array>();
}

template <class Array, class Value>
std::vector<Value> copyArray(const Napi::Value& value, napi_typedarray_type type, const char* what) {
  const auto array = typedArray<Array>(value, type, what);
  return {array.Data(), array.Data() + array.ElementLength()};
}

inline std::vector<uint32_t> copyIndices(const Napi::Value& value, const char* what) {
  return copyArray<Napi::Uint32Array, uint32_t>(value, napi_uint32_array, what);
}

/* Range  a whole number, 0 ≤ value ≤ limit */
inline uint64_t wholeNumber(const Napi::Value& value, double limit, const char* what) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  if (!(number >= 0 && number <= limit) || number != static_cast<double>(static_cast<uint64_t>(number))) {
    throw ShapeError(std::string(what) + " must be a whole number of at most " + std::to_string(uint64_t(limit)));
  }
  return static_cast<uint64_t>(number);
}

/* Calls use(path, offset) for rows in a file, use(values, count) for rows in memory. */
template <class Use>
auto withRows(const Napi::Value& value, const char* what, const Use& use) {
  if (!value.IsObject()) throw ShapeError(std::string(what) + " must be an object");
  const auto rows = value.As<Napi::Object>();
  if (rows.Has("path")) {
    const uint64_t offset = wholeNumber(rows.Get("byteOffset"), 9007199254740991.0, "the byte offset");
    return use(rows.Get("path").ToString().Utf8Value(), offset);
  }
  const auto values = typedArray<Napi::Int8Array>(rows.Get("values"), napi_int8_array, what);
  return use(static_cast<const int8_t*>(values.Data()), values.ElementLength());
}

inline OwnedQuery copyQuery(const Napi::Value& value, uint32_t dimension) {
  if (!value.IsObject()) throw ShapeError("a query must be an object");
  const auto query = value.As<Napi::Object>();
  const auto values = typedArray<Napi::Int8Array>(query.Get("values"), napi_int8_array, "a query's values");
  const auto length = static_cast<uint32_t>(wholeNumber(query.Get("length"), kMaxLength, "a query's length"));
  OwnedQuery owned(values.Data(), values.ElementLength(), length, dimension);
  const Napi::Value profile = query.Get("profile");
  if (!profile.IsUndefined()) {
    const auto rows = typedArray<Napi::Int8Array>(profile, napi_int8_array, "a query's profile");
    owned.setProfile(rows.Data(), rows.ElementLength());
  }
  return owned;
}

inline std::vector<OwnedQuery> copyQueries(const Napi::Value& value, uint32_t dimension) {
  if (!value.IsArray()) throw ShapeError("the queries must be an array");
  const auto list = value.As<Napi::Array>();
  std::vector<OwnedQuery> queries;
  for (uint32_t q = 0; q < list.Length(); ++q) queries.push_back(copyQuery(list.Get(q), dimension));
  return queries;
}

inline std::optional<std::vector<uint32_t>> copyEligible(const Napi::Value& value) {
  if (value.IsUndefined()) return std::nullopt;
  return copyIndices(value, "the eligible list");
}

/* Returns none if the value is not an array. */
inline std::optional<std::vector<std::vector<uint32_t>>> copyLists(const Napi::Value& value) {
  if (!value.IsArray()) return std::nullopt;
  const auto all = value.As<Napi::Array>();
  std::vector<std::vector<uint32_t>> lists;
  for (uint32_t q = 0; q < all.Length(); ++q) lists.push_back(copyIndices(all.Get(q), "a list"));
  return lists;
}

inline AffineParameters copyParameters(const Napi::Value& value) {
  if (!value.IsObject()) throw ShapeError("the affine parameters must be an object");
  const auto object = value.As<Napi::Object>();
  const auto member = [&object](const char* name) {
    const Napi::Value number = object.Get(name);
    const double wanted = number.IsNumber() ? number.As<Napi::Number>().DoubleValue() : 0.5;
    if (!(wanted >= -65'536 && wanted <= 65'536) || wanted != static_cast<int32_t>(wanted)) {
      throw ShapeError(std::string(name) + " must be a small whole number");
    }
    return static_cast<int32_t>(wanted);
  };
  const bool hasProfiles = !object.Get("profileWeight").IsUndefined();
  return {member("multiplier"), member("offset"), member("gapOpen"),
          member("gapExtend"),  nullptr,          hasProfiles ? member("profileWeight") : 0};
}

/* The work of an affine search. Lists of alignments are an object with their bounds in place of a name. */
inline AffineWork workNamed(const Napi::Value& name) {
  if (name.IsObject()) return AffineWork::kAlignmentLists;
  const std::string wanted = name.ToString().Utf8Value();
  if (wanted == "scores") return AffineWork::kScores;
  if (wanted == "measures") return AffineWork::kMeasures;
  if (wanted == "profiles") return AffineWork::kProfileScores;
  if (wanted == "alignments") return AffineWork::kAlignments;
  throw ShapeError("an affine search gives scores, measures, profiles or alignments");
}

/* The bounds of lists of alignments; empty for other work. */
inline ListBounds copyBounds(const Napi::Value& work) {
  if (!work.IsObject()) return {};
  const auto object = work.As<Napi::Object>();
  return {copyArray<Napi::Int32Array, int32_t>(object.Get("leastScores"), napi_int32_array, "the least scores"),
          static_cast<uint32_t>(wholeNumber(object.Get("maxCount"), kMaxAlignments, "the number of alignments"))};
}

/* The letters of affine parameters; empty if there are none. */
inline OwnedLetters copyLetters(const Napi::Value& parameters) {
  const Napi::Value value = parameters.As<Napi::Object>().Get("letters");
  if (value.IsUndefined()) return {};
  if (!value.IsObject()) throw ShapeError("the letters must be an object");
  const auto letters = value.As<Napi::Object>();
  return {copyArray<Napi::Int8Array, int8_t>(letters.Get("scores"), napi_int8_array, "the scores of letters"),
          copyArray<Napi::Uint8Array, uint8_t>(letters.Get("query"), napi_uint8_array, "the query's letters"),
          copyArray<Napi::Uint8Array, uint8_t>(letters.Get("targets"), napi_uint8_array, "the targets' letters")};
}

}  // namespace gloaming

#endif
