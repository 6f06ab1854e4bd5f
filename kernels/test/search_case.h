/* Test data for whole searches: a store of targets of many lengths, some queries, and their sums by the reference. */
#ifndef GLOAMING_SEARCH_CASE_H
#define GLOAMING_SEARCH_CASE_H

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "engine/search.h"
#include "test/case.h"

namespace gloaming {
namespace {

constexpr uint32_t kDimension = 32;
constexpr uint32_t kQueryLengths[] = {3, 17, 90};
/** The floor of excesses: some best dot products lie above it, some below. */
constexpr int32_t kFloor = 300;
/** Rows of a piece of a giant target for these queries: 100,000,000 multiply-adds (kPieceProducts). */
constexpr uint32_t kPieceRows = 100'000'000 / (110 * kDimension) / kMaxRows * kMaxRows;

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "kernels-searches: %s\n", what);
  std::exit(1);
}

/** Waits for one search; hasFailed then has its outcome. */
struct Waiter {
  std::mutex mutex;
  std::condition_variable wake;
  bool isDone = false, hasFailed = false;

  Search::Done done() {
    return [this](const std::shared_ptr<Search>&, std::exception_ptr failure) {
      const std::lock_guard<std::mutex> lock(mutex);
      isDone = true;
      hasFailed = failure != nullptr;
      wake.notify_one();
    };
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    wake.wait(lock, [this] { return isDone; });
  }
};

inline std::vector<uint8_t> lettersIn(const uint8_t* text, size_t count) {
  std::vector<uint8_t> letters(text, text + count);
  for (uint8_t& letter : letters) letter %= kLetterCount;
  letters.resize(count + kLetterPadding);
  return letters;
}

struct Data {
  std::shared_ptr<const Store> store;
  std::vector<std::vector<int8_t>> queries;
  /** Profile of the aligned query, queries[1]; the store has those of its targets. */
  std::vector<int8_t> profile;
  std::vector<std::vector<MaxSim>> expected;         // by query and target
  std::vector<std::vector<int32_t>> expectedExcess;  // likewise, over kFloor

  std::vector<OwnedQuery> owned() const {
    std::vector<OwnedQuery> list;
    for (const auto& rows : queries) list.push_back(one(rows));
    return list;
  }
  /* Returns letters with scores, some of them lower case. */
  OwnedLetters letters(const std::vector<int8_t>& query, const std::vector<uint32_t>& targets) const {
    OwnedLetters letters;
    for (uint32_t cell = 0; cell < kLetterCount * kLetterCount; ++cell) {
      letters.scores.push_back(static_cast<int8_t>(static_cast<int>(cell * 37 % 41) - 20));
    }
    letters.query.resize(query.size() / store->dimension());
    size_t total = 0;
    for (const uint32_t target : targets) total += store->length(target);
    letters.targets.resize(total);
    for (size_t i = 0; i < letters.query.size(); ++i) letters.query[i] = static_cast<uint8_t>('A' + i * 7 % 26);
    for (size_t j = 0; j < total; ++j) letters.targets[j] = static_cast<uint8_t>('a' + j * 11 % 26);
    return letters;
  }
  OwnedQuery one(const std::vector<int8_t>& rows) const {
    const auto length = static_cast<uint32_t>(rows.size() / store->dimension());
    return OwnedQuery(rows.data(), rows.size(), length, store->dimension());
  }
  Tokens tokens(const std::vector<int8_t>& rows) const {
    return {rows.data(), static_cast<uint32_t>(rows.size() / store->dimension()), store->dimension()};
  }
  Tokens target(uint32_t t) const { return {store->rows(t), store->length(t), store->dimension()}; }
};

/* Makes targets of many lengths. Some are giants that are cut into pieces, the last piece of one row or more. */
inline Data makeData(Random& random) {
  std::vector<uint32_t> starts{0};
  for (uint32_t t = 0; t < 40; ++t) starts.push_back(starts.back() + 1 + below(random, t % 7 == 0 ? 700 : 90));
  for (const uint32_t length : {kMaxLength, 2 * kPieceRows + 1}) starts.push_back(starts.back() + length);
  for (uint32_t t = 0; t < 5; ++t) starts.push_back(starts.back() + 1 + below(random, 90));
  const auto rows = randomRows(random, starts.back(), kDimension);
  const auto profiles = randomProfiles(random, starts.back());
  const auto store = std::make_shared<Store>(std::move(starts), kDimension, rows.data(), rows.size());
  store->setProfiles(profiles.data(), profiles.size());
  Data data{store, {}, randomProfiles(random, kQueryLengths[1]), {}, {}};
  for (const uint32_t length : kQueryLengths) {
    const auto& query = data.queries.emplace_back(randomRows(random, length, kDimension));
    auto& expected = data.expected.emplace_back();
    auto& excess = data.expectedExcess.emplace_back();
    for (uint32_t t = 0; t < data.store->targetCount(); ++t) {
      expected.push_back(maxsimReference(data.tokens(query), data.target(t)));
      excess.push_back(excessReference(data.tokens(query), data.target(t), kFloor));
    }
  }
  return data;
}

}  // namespace
}  // namespace gloaming

#endif
