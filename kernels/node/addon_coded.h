/* Searches by codes and k-mers of a release: their handles, and their arguments; a part of addon.cpp. Each search is
 * made after all arguments were checked, because its callback is released only when the search has ended. */
#ifndef GLOAMING_ADDON_CODED_H
#define GLOAMING_ADDON_CODED_H

#include "node/addon_arguments.h"
#include "node/addon_callback.h"
#include "node/addon_values.h"
#include "engine/hit_search.h"

namespace gloaming {

struct OpenCodes {
  std::shared_ptr<const Codes> codes;
  const Kernels* kernels;
};

struct OpenLetters {
  std::shared_ptr<const TargetLetters> letters;
  const Kernels* kernels;
};

template <class Held>
Held& heldBy(const Napi::Value& value, const char* what) {
  if (!value.IsExternal()) throw ShapeError(std::string(what) + " are not some that these kernels made");
  return *value.As<Napi::External<Held>>().Data();
}

template <class Held>
Napi::Value hold(Napi::Env env, Held held) {
  return Napi::External<Held>::New(env, new Held(std::move(held)), [](Napi::Env, Held* one) { delete one; });
}

/* A handle of a search that has ended: its scores stay outside of JavaScript. */
template <class Kind>
Napi::Value holdSearch(Napi::Env env, const Search& search) {
  return hold(env, std::static_pointer_cast<const Kind>(search.shared_from_this()));
}

template <class Kind>
std::shared_ptr<const Kind>& endedSearch(const Napi::Value& value, const char* what) {
  auto& search = heldBy<std::shared_ptr<const Kind>>(value, what);
  if (search == nullptr) throw ShapeError(std::string(what) + " were used before");
  return search;
}

/* What the handles of codeSums and kmerScores hold: an object with three arrays for each query. */
inline Napi::Value coarseScores(const Napi::CallbackInfo& info) {
  const auto& coded = endedSearch<CodedSearch>(info[0], "the sums")->sums;
  const auto& kmers = endedSearch<KmerSearch>(info[1], "the k-mer scores")->scores;
  if (coded.size() != kmers.size()) throw ShapeError("the sums and k-mer scores must be of equally many queries");
  Napi::Array list = Napi::Array::New(info.Env(), coded.size());
  for (uint32_t q = 0; q < coded.size(); ++q) {
    Napi::Object scores = Napi::Object::New(info.Env());
    scores["excess"] = copyOut<Napi::Uint32Array>(info.Env(), coded[q].excess);
    scores["votes"] = copyOut<Napi::Uint32Array>(info.Env(), coded[q].votes);
    scores["kmers"] = copyOut<Napi::Uint32Array>(info.Env(), kmers[q]);
    list[q] = scores;
  }
  return list;
}

inline std::shared_ptr<Search> makeTable(const Napi::CallbackInfo& info) {
  const auto& [codes, kernels] = heldBy<OpenCodes>(info[0], "the codes");
  std::vector<OwnedQuery> queries = copyQueries(info[1], codes->dimension());
  return std::make_shared<TableSearch>(*kernels, codes, std::move(queries),
                                       callOnLoop(info.Env(), info[4], tableToValue));
}

inline std::shared_ptr<Search> makeCodeSums(const Napi::CallbackInfo& info) {
  const auto& [codes, kernels] = heldBy<OpenCodes>(info[0], "the codes");
  const auto entries = typedArray<Napi::Uint16Array>(info[1], napi_uint16_array, "the table");
  if (entries.ElementLength() % kCodedQueries != 0) throw ShapeError("the rows of the table must be whole");
  std::vector<TableRow> table(entries.ElementLength() / kCodedQueries);
  std::memcpy(table.data(), entries.Data(), table.size() * sizeof(TableRow));
  std::vector<uint32_t> lengths = copyIndices(info[2], "the lengths of the queries");
  std::optional<std::vector<uint32_t>> eligible = copyEligible(info[3]);
  const auto floor = static_cast<uint8_t>(wholeNumber(info[4], UINT8_MAX, "the floor"));
  return std::make_shared<CodedSearch>(*kernels, codes, std::move(table), std::move(lengths), std::move(eligible),
                                       floor, callOnLoop(info.Env(), info[7], holdSearch<CodedSearch>));
}

inline std::shared_ptr<Search> makeKmerScores(const Napi::CallbackInfo& info) {
  const auto& [letters, kernels] = heldBy<OpenLetters>(info[0], "the letters");
  const auto list = info[1].As<Napi::Array>();
  std::vector<std::vector<uint8_t>> texts;
  for (uint32_t query = 0; query < list.Length(); ++query) {
    texts.push_back(copyArray<Napi::Uint8Array, uint8_t>(list[query], napi_uint8_array, "the letters of a query"));
  }
  std::optional<std::vector<uint32_t>> eligible = copyEligible(info[2]);
  return std::make_shared<KmerSearch>(*kernels, letters, std::move(texts), std::move(eligible),
                                      callOnLoop(info.Env(), info[5], holdSearch<KmerSearch>));
}

/* Empties both handles, so that the scores are freed when the search has ended. */
inline std::shared_ptr<Search> makeHits(const Napi::CallbackInfo& info) {
  const auto& [codes, kernels] = heldBy<OpenCodes>(info[0], "the codes");
  auto& sums = endedSearch<CodedSearch>(info[1], "the sums");
  auto& kmers = endedSearch<KmerSearch>(info[2], "the k-mer scores");
  std::optional<std::vector<uint32_t>> eligible = copyEligible(info[3]);
  const auto count = static_cast<uint32_t>(wholeNumber(info[4], UINT32_MAX, "the number of hits"));
  return std::make_shared<HitSearch>(*kernels, codes, std::exchange(sums, nullptr), std::exchange(kmers, nullptr),
                                     std::move(eligible), count, callOnLoop(info.Env(), info[7], hitsToValue));
}

inline std::shared_ptr<Search> makeAssignment(const Napi::CallbackInfo& info) {
  const auto values = [&info](int at, const char* what) {
    return copyArray<Napi::Int8Array, int8_t>(info[at], napi_int8_array, what);
  };
  const auto dimension = static_cast<uint32_t>(wholeNumber(info[0], kMaxDimension, "the dimension"));
  auto parents = values(1, "the parents"), rows = values(3, "the rows");
  auto children = info[2].IsUndefined() ? std::vector<int8_t>{} : values(2, "the children");
  return std::make_shared<AssignJob>(*chooseKernels(nullptr), dimension, std::move(parents), std::move(children),
                                     std::move(rows), callOnLoop(info.Env(), info[6], assignedToValue));
}

}  // namespace gloaming

#endif
