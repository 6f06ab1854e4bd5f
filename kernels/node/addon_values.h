/* Converts results of searches to JavaScript values; a part of addon.cpp. */
#ifndef GLOAMING_ADDON_VALUES_H
#define GLOAMING_ADDON_VALUES_H

#include <napi.h>

#include <cstring>

#include "cuda/host/fleet_search.h"
#include "engine/coded_search.h"
#include "engine/hit_search.h"
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

/* Writes the GPUs of a fleet into an object. */
inline void putGpus(Napi::Env env, cuda::Fleet& all, Napi::Object& result) {
  const auto states = all.state();
  Napi::Array list = Napi::Array::New(env, states.size());
  for (uint32_t g = 0; g < states.size(); ++g) {
    const auto& [ordinal, facts, freeBytes, residentCount, residentBytes] = states[g];
    Napi::Object gpu = Napi::Object::New(env);
    gpu["ordinal"] = Napi::Number::New(env, ordinal);
    gpu["name"] = Napi::String::New(env, facts.name);
    const std::string capability = std::to_string(facts.major) + "." + std::to_string(facts.minor);
    gpu["computeCapability"] = Napi::String::New(env, capability);
    gpu["kernels"] = Napi::String::New(env, facts.variant == cuda::Variant::kHopper ? "hopper" : "portable");
    gpu["totalBytes"] = Napi::Number::New(env, static_cast<double>(facts.totalBytes));
    gpu["freeBytes"] = Napi::Number::New(env, static_cast<double>(freeBytes));
    gpu["residentCount"] = Napi::Number::New(env, residentCount);
    gpu["residentBytes"] = Napi::Number::New(env, static_cast<double>(residentBytes));
    list[g] = gpu;
  }
  result["gpus"] = list;
  const std::vector<std::string> reasons = all.unusedGpus();
  Napi::Array unused = Napi::Array::New(env, reasons.size());
  for (uint32_t r = 0; r < reasons.size(); ++r) unused[r] = Napi::String::New(env, reasons[r]);
  result["unused"] = unused;
  result["driverVersion"] = Napi::Number::New(env, all.driverVersion());
}

inline Napi::Value measuresToValue(Napi::Env env, const Search& search) {
  const auto& found = static_cast<const AffineSearch&>(search);
  Napi::Object measures = Napi::Object::New(env);
  measures["scores"] = copyOut<Napi::Int32Array>(env, found.scores);
  measures["queryToTarget"] = copyOut<Napi::Int32Array>(env, found.sums.queryToTarget);
  measures["targetToQuery"] = copyOut<Napi::Int32Array>(env, found.sums.targetToQuery);
  return measures;
}

inline Napi::Value tableToValue(Napi::Env env, const Search& search) {
  const std::vector<TableRow>& rows = static_cast<const TableSearch&>(search).table;
  Napi::Uint16Array table = Napi::Uint16Array::New(env, rows.size() * kCodedQueries);
  std::memcpy(table.Data(), rows.data(), rows.size() * sizeof(TableRow));
  return table;
}

inline Napi::Value hitsToValue(Napi::Env env, const Search& search) {
  const auto& all = static_cast<const HitSearch&>(search).hits;
  Napi::Array list = Napi::Array::New(env, all.size());
  for (uint32_t q = 0; q < all.size(); ++q) {
    Napi::Object hits = Napi::Object::New(env);
    hits["targets"] = copyOut<Napi::Uint32Array>(env, all[q].targets);
    hits["kmers"] = copyOut<Napi::Uint32Array>(env, all[q].kmers);
    hits["ranks"] = copyOut<Napi::Uint32Array>(env, all[q].ranks);
    list[q] = hits;
  }
  return list;
}

inline Napi::Value assignedToValue(Napi::Env env, const Search& search) {
  return copyOut<Napi::Uint16Array>(env, static_cast<const AssignJob&>(search).codes);
}

/* An array of alignments, each with its fixed members and its runs. */
template <class Alignment>
Napi::Array alignmentsToArray(Napi::Env env, const std::vector<Alignment>& all) {
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

inline Napi::Value listsToValue(Napi::Env env, const std::vector<AlignmentList>& lists) {
  Napi::Array values = Napi::Array::New(env, lists.size());
  for (uint32_t item = 0; item < lists.size(); ++item) {
    const Napi::HandleScope scope(env);
    Napi::Object value = Napi::Object::New(env);
    value["alignments"] = alignmentsToArray(env, lists[item].alignments);
    value["isCut"] = Napi::Boolean::New(env, lists[item].isCut);
    values[item] = value;
  }
  return values;
}

/* Returns the result of an affine search, by its kind of work. */
inline Napi::Value affineToValue(Napi::Env env, const Search& search) {
  const auto& found = static_cast<const AffineSearch&>(search);
  if (found.work == AffineWork::kAlignments) return alignmentsToArray(env, found.alignments);
  if (found.work == AffineWork::kAlignmentLists) return listsToValue(env, found.lists);
  if (found.work == AffineWork::kMeasures) return measuresToValue(env, search);
  return copyOut<Napi::Int32Array>(env, found.scores);
}

}  // namespace gloaming

#endif
