/* What searches found as JavaScript values; a part of addon.cpp. */
#ifndef GLOAMING_ADDON_VALUES_H
#define GLOAMING_ADDON_VALUES_H

#include <napi.h>

#include "cuda/host/fleet_search.h"
#include "engine/search.h"

namespace gloaming {

template <class Array, class Value>
Array copyOut(Napi::Env env, const std::vector<Value>& values) {
  Array array = Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

inline Napi::Value sumsToValue(Napi::Env env, const Search& search) {
  const auto& all = static_cast<const SumsSearch&>(search).sums;
  Napi::Array list = Napi::Array::New(env, all.size());
  for (uint32_t q = 0; q < all.size(); ++q) {
    Napi::Object sums = Napi::Object::New(env);
    sums["queryToTarget"] = copyOut<Napi::Int32Array>(env, all[q].queryToTarget);
    sums["targetToQuery"] = copyOut<Napi::Int32Array>(env, all[q].targetToQuery);
    if (!all[q].queryExcess.empty()) sums["queryExcess"] = copyOut<Napi::Int32Array>(env, all[q].queryExcess);
    list[q] = sums;
  }
  return list;
}

inline Napi::Value nearestToValue(Napi::Env env, const Search& search) {
  Napi::Value all = sumsToValue(env, search);
  const auto& targets = static_cast<const cuda::FleetSearch&>(search).targets;
  for (uint32_t q = 0; q < targets.size(); ++q) {
    all.As<Napi::Array>().Get(q).As<Napi::Object>()["targets"] = copyOut<Napi::Uint32Array>(env, targets[q]);
  }
  return all;
}

inline Napi::Value scoresToValue(Napi::Env env, const Search& search) {
  return copyOut<Napi::Int32Array>(env, static_cast<const AffineSearch&>(search).scores);
}

inline Napi::Value alignmentsToValue(Napi::Env env, const Search& search) {
  const auto& all = static_cast<const AffineSearch&>(search).alignments;
  Napi::Array list = Napi::Array::New(env, all.size());
  for (uint32_t item = 0; item < all.size(); ++item) {
    const Napi::HandleScope scope(env);
    const AffineAlignment& fixed = all[item].fixed;
    Napi::Object alignment = Napi::Object::New(env);
    alignment["score"] = Napi::Number::New(env, fixed.score);
    alignment["queryStart"] = Napi::Number::New(env, fixed.queryStart);
    alignment["queryEnd"] = Napi::Number::New(env, fixed.queryEnd);
    alignment["targetStart"] = Napi::Number::New(env, fixed.targetStart);
    alignment["targetEnd"] = Napi::Number::New(env, fixed.targetEnd);
    alignment["runs"] = copyOut<Napi::Uint32Array>(env, all[item].runs);
    list[item] = alignment;
  }
  return list;
}

}  // namespace gloaming

#endif
