/* Compares whole searches on the pool with the reference: chunks, shared targets, sparse lists, threads. Also tests
 * cancellation, within giants too, low-priority jobs and failures. The thread sanitizer checks the pool with it.
 *
 *   kernels-searches [seed]
 */
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "engine/alignments.h"
#include "engine/coded_search.h"
#include "engine/listed_search.h"
#include "test/clock.h"
#include "test/hit_searches.h"
#include "test/kmer_searches.h"
#include "test/search_case.h"

namespace gloaming {
namespace {

constexpr AffineParameters kParameters{600, 2, 20, 3}, kProfileParameters{600, 150, 60, 5, nullptr, 1'331};

void checkMaxSim(Pool& pool, const Kernels& kernels, const Data& data, uint32_t threads,
                 const std::optional<std::vector<uint32_t>>& eligible) {
  Waiter waiter;
  const auto search = std::make_shared<MaxSimSearch>(kernels, data.store, data.owned(), eligible, waiter.done());
  pool.submit(search, threads);
  waiter.wait();
  require(!waiter.hasFailed, "a search failed");
  for (size_t q = 0; q < data.queries.size(); ++q) {
    const auto& sums = search->sums[q];
    for (uint32_t item = 0; item < sums.queryToTarget.size(); ++item) {
      const uint32_t target = eligible ? (*eligible)[item] : item;
      const MaxSim& expected = data.expected[q][target];
      require(sums.queryToTarget[item] == expected.queryToTarget && sums.targetToQuery[item] == expected.targetToQuery,
              "a search differs from the reference in maxsim");
    }
  }
}

/* Checks lists with few common targets: all targets with the giants, a sparse list, and an empty list. */
void checkListed(Pool& pool, const Kernels& kernels, const Data& data, uint32_t threads) {
  std::vector<std::vector<uint32_t>> lists(std::size(kQueryLengths));
  for (uint32_t t = 0; t < data.store->targetCount(); ++t) {
    lists[0].push_back(t);
    if (t % 3 == 1 || t == 40) lists[1].push_back(t);
  }
  Waiter waiter, excessWaiter;
  const auto search = std::make_shared<ListedSearch>(kernels, data.store, data.owned(), lists, kFloor, waiter.done());
  const auto all =
      std::make_shared<MaxSimSearch>(kernels, data.store, data.owned(), std::nullopt, excessWaiter.done(), kFloor);
  pool.submit(search, threads);
  pool.submit(all, threads);
  waiter.wait();
  excessWaiter.wait();
  require(!waiter.hasFailed && !excessWaiter.hasFailed, "a search of lists failed");
  for (size_t q = 0; q < lists.size(); ++q) {
    const auto& sums = search->sums[q];
    require(sums.queryToTarget.size() == lists[q].size(), "a search of lists has a place for each target of a list");
    for (size_t item = 0; item < lists[q].size(); ++item) {
      const uint32_t target = lists[q][item];
      const MaxSim& expected = data.expected[q][target];
      require(sums.queryToTarget[item] == expected.queryToTarget && sums.targetToQuery[item] == expected.targetToQuery,
              "a search of lists differs from the reference in maxsim");
      const int32_t excess = data.expectedExcess[q][target];
      require(sums.queryExcess[item] == excess, "a search of lists differs from the reference in excesses");
      require(all->sums[q].queryExcess[target] == excess, "a search differs from the reference in excesses");
    }
  }
}

/* Checks bounds of lists of alignments that do not fit the targets or are out of range. */
void checkBoundsFailures(Pool& pool, const Kernels& kernels, const Data& data) {
  const std::vector<ListBounds> wrong{{{1}, 3}, {{1, 0}, 3}, {{1, 1}, 0}, {{1, 1}, kMaxAlignments + 1}};
  for (const ListBounds& bounds : wrong) {
    Waiter waiter;
    const auto search =
        std::make_shared<AffineSearch>(kernels, data.store, data.one(data.queries[1]), std::vector<uint32_t>{0, 1},
                                       kParameters, OwnedLetters{}, bounds, waiter.done());
    pool.submit(search, 2);
    waiter.wait();
    require(waiter.hasFailed, "a search with wrong bounds of its lists succeeded");
  }
}

/* Checks lists that do not fit the queries or do not ascend. */
void checkListedFailures(Pool& pool, const Kernels& kernels, const Data& data) {
  const std::vector<std::vector<std::vector<uint32_t>>> wrong{{{0}, {1}}, {{0}, {2, 1}, {}}, {{0}, {}, {1'000}}};
  for (const auto& lists : wrong) {
    Waiter waiter;
    pool.submit(std::make_shared<ListedSearch>(kernels, data.store, data.owned(), lists, 0, waiter.done()), 2);
    waiter.wait();
    require(waiter.hasFailed, "a search of wrong lists succeeded");
  }
}

void checkAffine(Pool& pool, const Kernels& kernels, const Data& data, uint32_t threads,
                 const AffineParameters& wanted) {
  // Enough targets for batches beside single targets.
  std::vector<uint32_t> targets{4, 0, 40, 7, 7, 21};
  for (uint32_t t = 0; threads < 5 && t < 5 * threads * kernels.affineBatch; ++t) targets.push_back(t * 11 % 40);
  Waiter scoreWaiter, measureWaiter, alignWaiter, profileWaiter;
  const auto& query = data.queries[1];
  // The alignments yield to the scores.
  const OwnedLetters letters = data.letters(query, targets);
  const auto owned = [&] {
    OwnedQuery one = data.one(query);
    one.setProfile(data.profile.data(), data.profile.size());
    return one;
  };
  const auto scores = std::make_shared<AffineSearch>(kernels, data.store, owned(), targets, wanted, letters,
                                                     AffineWork::kScores, scoreWaiter.done());
  const auto measured = std::make_shared<AffineSearch>(kernels, data.store, owned(), targets, wanted, letters,
                                                       AffineWork::kMeasures, measureWaiter.done());
  const auto aligned = std::make_shared<AffineSearch>(kernels, data.store, owned(), targets, wanted, letters,
                                                      AffineWork::kAlignments, alignWaiter.done());
  const auto profiled = std::make_shared<AffineSearch>(kernels, data.store, owned(), targets, wanted, letters,
                                                       AffineWork::kProfileScores, profileWaiter.done());
  Waiter listWaiter;
  ListBounds bounds{std::vector<int32_t>(targets.size(), 40), 3};
  const auto listed =
      std::make_shared<AffineSearch>(kernels, data.store, owned(), targets, wanted, letters, bounds, listWaiter.done());
  pool.submit(listed, threads, Priority::kLow);
  pool.submit(aligned, threads, Priority::kLow);
  pool.submit(scores, threads);
  pool.submit(measured, threads);
  pool.submit(profiled, threads);
  scoreWaiter.wait();
  measureWaiter.wait();
  profileWaiter.wait();
  alignWaiter.wait();
  listWaiter.wait();
  Workspace workspace;
  const std::atomic<bool> cancelled{false};
  AffineParameters parameters = wanted;
  parameters.letterScores = letters.scores.data();
  const std::vector<uint8_t> queryLetters = lettersIn(letters.query.data(), letters.query.size());
  const uint8_t* text = letters.targets.data();
  for (size_t item = 0; item < targets.size(); ++item) {
    const Tokens target = data.target(targets[item]);
    const PackedQuery packed{data.tokens(query), nullptr};
    const std::vector<uint8_t> targetLetters = lettersIn(text, target.length);
    text += target.length;
    const Letters both{queryLetters.data(), targetLetters.data()};
    const Profiles profiles{data.profile.data(), data.store->profile(targets[item])};
    const AffineTask task{packed, target.values, target.length, both, profiles, parameters, workspace, cancelled};
    AffineAlignment got = aligned->alignments[item].fixed;
    got.runs = aligned->alignments[item].runs.data();
    require(scores->scores[item] == referenceAffineScore(task), "a search differs in affine scores");
    const PairSums sums = referenceSums(task);
    require(measured->scores[item] == scores->scores[item], "measures differ from scores");
    require(measured->sums.queryToTarget[item] == sums.queryToTarget, "measures differ in sums over the query");
    require(measured->sums.targetToQuery[item] == sums.targetToQuery, "measures differ in sums over the target");
    require(profiled->scores[item] == referenceProfileScore(task), "a search differs in scores of profiles");
    require(sameAlignment(got, referenceAffineAlign(task)), "a search differs in alignments");
    require(sameLists(listed->lists[item], affineAlignAll(referenceKernels, task, 40, 3)),
            "a search differs in lists of alignments");
  }
}

void checkCancelAndFailure(Pool& pool, const Kernels& kernels, const Data& data) {
  Waiter cancelled, failed;
  const auto search = std::make_shared<MaxSimSearch>(kernels, data.store, data.owned(), std::nullopt, cancelled.done());
  pool.submit(search, 3);
  search->cancel();
  cancelled.wait();
  require(!cancelled.hasFailed, "a cancelled search failed");
  const std::vector<uint32_t> beyond{0, data.store->targetCount()};
  pool.submit(std::make_shared<MaxSimSearch>(kernels, data.store, data.owned(), beyond, failed.done()), 2);
  failed.wait();
  require(failed.hasFailed, "a list that names no target did not fail");
  const std::pair<AffineParameters, AffineWork> ofProfiles[] = {{kProfileParameters, AffineWork::kScores},
                                                                {kParameters, AffineWork::kProfileScores}};
  for (const auto& [parameters, work] : ofProfiles) {
    Waiter without;
    const auto unprofiled =
        std::make_shared<AffineSearch>(kernels, data.store, data.one(data.queries[1]), std::vector<uint32_t>{0},
                                       parameters, OwnedLetters{}, work, without.done());
    pool.submit(unprofiled, 1);
    without.wait();
    require(without.hasFailed, "profiles that score did not fail for a query without one");
  }
}

/** Centroids, and the centroid ids of the targets of some data in a temporary file. */
struct CodedData {
  std::vector<int8_t> words;
  std::vector<uint16_t> codes;
  std::string path;

  CodedData(Random& random, const Data& data) : words(randomRows(random, kCodeCount, kDimension)) {
    for (uint32_t row = 0; row < data.store->residueCount(); ++row) codes.push_back(static_cast<uint16_t>(random()));
    char name[] = "/tmp/kernels-searches-XXXXXX";
    const int file = mkstemp(name);
    require(file >= 0, "no file for codes");
    path = name;
    const auto bytes = static_cast<ssize_t>(codes.size() * sizeof(uint16_t));
    require(write(file, codes.data(), static_cast<size_t>(bytes)) == bytes, "the codes could not be written");
    close(file);
  }
  ~CodedData() { std::remove(path.c_str()); }
  std::shared_ptr<const Codes> open(const Kernels& kernels, const Data& data) const {
    std::vector<uint32_t> starts{0};
    for (uint32_t t = 0; t < data.store->targetCount(); ++t) starts.push_back(starts.back() + data.store->length(t));
    return std::make_shared<Codes>(kernels, std::move(starts), kDimension, words.data(), words.size(), path);
  }
};

/* Entry of a query and a centroid without a weight, by plain loops. */
uint16_t entryOf(const Tokens& query, const int8_t* word) {
  int32_t best = 0;
  uint32_t closest = 0;
  for (uint32_t group = 0; group < kRowGroups; ++group) {
    const uint32_t end = query.length * (group + 1) / kRowGroups;
    for (uint32_t row = query.length * group / kRowGroups; row < end; ++row) {
      const int32_t found = dotProduct(query.values + size_t{row} * kDimension, word, kDimension);
      if (found <= best) continue;
      best = found;
      closest = group;
    }
  }
  return static_cast<uint16_t>(best >> kTableShift << 8 | closest);
}

/* Checks some weights of the first query by counting the rows of the release that are as rare. */
void checkWeights(const std::vector<TableRow>& plain, const std::vector<TableRow>& weighed,
                  const std::vector<uint16_t>& codes) {
  for (uint32_t code = 0; code < kCodeCount; code += 499) {
    const uint32_t entry = plain[code].entries[0];
    uint64_t rows = 0;
    for (const uint16_t other : codes) {
      const uint32_t compared = plain[other].entries[0];
      rows += compared % kRowGroups == entry % kRowGroups && compared >> 8 >= entry >> 8 ? 1 : 0;
    }
    uint32_t weight = kMaxWeight;
    while (weight > 0 && (kVoteShare * std::max<uint64_t>(rows, 1) << weight) > codes.size()) --weight;
    require(weighed[code].entries[0] == (entry | weight << 4), "the weight of a vote differs");
  }
}

/* Checks a table of some queries, and the coarse scores of listed targets by it. */
void checkCoded(Pool& pool, const Kernels& kernels, const Data& data, const CodedData& coded, uint32_t threads) {
  const auto codes = coded.open(kernels, data);
  Waiter tableWaiter, waiter;
  const auto made = std::make_shared<TableSearch>(kernels, codes, data.owned(), tableWaiter.done());
  pool.submit(made, threads);
  tableWaiter.wait();
  require(!tableWaiter.hasFailed, "a table failed");
  for (size_t q = 0; q < data.queries.size(); ++q) {
    for (uint32_t word = 0; word < kCodeCount; word += 997) {
      const int8_t* values = coded.words.data() + size_t{word} * kDimension;
      require(made->table[word].entries[q] == entryOf(data.tokens(data.queries[q]), values), "a table differs");
    }
  }
  std::vector<uint32_t> lengths;
  for (const auto& query : data.queries) lengths.push_back(data.tokens(query).length);
  constexpr uint8_t floor = 90;
  const std::vector<uint32_t> listed{1, 2, 5, 40, 44};
  const auto search = std::make_shared<CodedSearch>(kernels, codes, made->table, lengths, listed, floor, waiter.done());
  pool.submit(search, threads);
  waiter.wait();
  require(!waiter.hasFailed, "a search by codes failed");
  std::vector<TableRow> table = made->table;
  weighVotes(table, static_cast<uint32_t>(lengths.size()), codes->counts());
  checkWeights(made->table, table, coded.codes);
  const Diagonals diagonals = diagonalsOf(lengths);
  for (size_t item = 0; item < listed.size(); ++item) {
    constexpr uint32_t halfCount = (2 * kMaxLength >> 4) + 1;
    std::vector<uint16_t> halves(size_t{halfCount} * kCodedQueries);
    uint32_t excess[kCodedQueries], votes[kCodedQueries];
    referenceCodedRows(table.data(), codes->codes(listed[item]), codes->length(listed[item]), floor, diagonals,
                       halves.data(), halfCount, excess, votes);
    for (size_t q = 0; q < data.queries.size(); ++q) {
      require(search->sums[q].excess[item] == excess[q] && search->sums[q].votes[item] == votes[q],
              "a search by codes differs from the reference");
    }
  }
  checkHits(pool, kernels, codes, search, listed, threads);
}

/* Checks the nearest centroids of rows, with ties. */
void checkAssign(Pool& pool, const Kernels& kernels, Random& random, uint32_t threads) {
  constexpr uint32_t parents = 150, rows = 2'100;
  std::vector<int8_t> upper = randomRows(random, parents, kDimension);
  std::copy_n(upper.begin(), 20 * kDimension, upper.begin() + 90 * kDimension);
  const std::vector<int8_t> lower = randomRows(random, parents * kWordChildren, kDimension);
  const std::vector<int8_t> values = randomRows(random, rows, kDimension);
  const auto closest = [&](const int8_t* row, const std::vector<int8_t>& words, uint32_t first, uint32_t end) {
    uint32_t best = first;
    const auto at = [&](uint32_t word) {
      return dotProduct(row, words.data() + size_t{word} * kDimension, kDimension);
    };
    for (uint32_t word = first; word < end; ++word) best = at(word) > at(best) ? word : best;
    return best;
  };
  for (const std::vector<int8_t>& children : {std::vector<int8_t>{}, lower}) {
    Waiter waiter;
    const auto job = std::make_shared<AssignJob>(kernels, kDimension, upper, children, values, waiter.done());
    pool.submit(job, threads);
    waiter.wait();
    require(!waiter.hasFailed, "an assignment failed");
    for (uint32_t row = 0; row < rows; ++row) {
      const int8_t* own = values.data() + size_t{row} * kDimension;
      const uint32_t parent = closest(own, upper, 0, parents), first = parent * kWordChildren;
      const uint32_t wanted = children.empty() ? parent : closest(own, lower, first, first + kWordChildren);
      require(job->codes[row] == wanted, "an assignment differs from plain loops");
    }
  }
}

/** Most processor time of one thread after a cancellation. Sanitizers make all work some tens of times slower. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMostMsAfterCancel = 1500;
#else
constexpr double kMostMsAfterCancel = 20;
#endif

/* Makes a giant query and a giant target of arbitrary rows. */
Data makeGiants(Random& random) {
  constexpr uint32_t dimension = 64;
  std::vector<int8_t> rows(size_t{kMaxLength} * dimension);
  for (int8_t& value : rows) value = static_cast<int8_t>(static_cast<int>(below(random, 45)) - 22);
  const std::vector<uint32_t> starts{0, kMaxLength};
  Data data{std::make_shared<Store>(starts, dimension, rows.data(), rows.size()), {}, {}, {}, {}};
  rows.resize(size_t{20'000} * dimension);
  data.queries.push_back(std::move(rows));
  return data;
}

/* A cancelled search ends soon, at any place within a giant protein. */
void checkCancelWithinGiants(Pool& pool, const Kernels& kernels, const Data& data) {
  for (const int delayMs : {10, 60}) {
    for (const char* kind : {"maxsim", "affine scores", "affine measures", "affine alignments", "lists"}) {
      Waiter waiter;
      std::shared_ptr<Search> search;
      if (std::strcmp(kind, "maxsim") == 0) {
        search = std::make_shared<MaxSimSearch>(kernels, data.store, data.owned(), std::nullopt, waiter.done());
      } else if (std::strcmp(kind, "lists") == 0) {
        search =
            std::make_shared<AffineSearch>(kernels, data.store, data.one(data.queries[0]), std::vector<uint32_t>{0},
                                           kParameters, OwnedLetters{}, ListBounds{{1}, kMaxAlignments}, waiter.done());
      } else {
        const AffineWork work = std::strcmp(kind, "affine alignments") == 0 ? AffineWork::kAlignments
                                : std::strcmp(kind, "affine measures") == 0 ? AffineWork::kMeasures
                                                                            : AffineWork::kScores;
        search =
            std::make_shared<AffineSearch>(kernels, data.store, data.one(data.queries[0]), std::vector<uint32_t>{0},
                                           kParameters, OwnedLetters{}, work, waiter.done());
      }
      pool.submit(search, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(delayMs));
      // By processor time, so that other programs do not count.
      const double cancelledAt = processorSeconds();
      search->cancel();
      waiter.wait();
      const double workedMs = (processorSeconds() - cancelledAt) * 1e3;
      if (workedMs < kMostMsAfterCancel) continue;
      std::fprintf(stderr, "kernels-searches: %s of %s worked for %.1f ms after they were cancelled\n", kind,
                   kernels.name, workedMs);
      std::exit(1);
    }
  }
}

void checkAll(uint64_t seed) {
  Random random(seed);
  const Data data = makeData(random), giants = makeGiants(random);
  const CodedData coded(random, data);
  Pool pool;
  for (const Kernels* table : runnableTables()) {
    checkMaxSim(pool, *table, data, 3, std::nullopt);
    if (table == &referenceKernels) continue;  // slow, and the other tables have covered the same code
    for (const uint32_t threads : {1u, 2u, 5u}) {
      checkMaxSim(pool, *table, data, threads, std::vector<uint32_t>{1, 2, 5, 40, 44});
      checkAffine(pool, *table, data, threads, kParameters);
      checkAffine(pool, *table, data, threads, kProfileParameters);
      checkListed(pool, *table, data, threads);
      checkCoded(pool, *table, data, coded, threads);
      checkAssign(pool, *table, random, threads);
      checkKmerSearch(pool, *table, random, threads);
    }
    checkMaxSim(pool, *table, data, 2, std::vector<uint32_t>{});
    checkListedFailures(pool, *table, data);
    checkBoundsFailures(pool, *table, data);
    checkCancelAndFailure(pool, *table, data);
    checkCancelWithinGiants(pool, *table, giants);
  }
}

}  // namespace
}  // namespace gloaming

int main(int argc, char** argv) {
  const uint64_t seed = gloaming::seedOf("kernels-searches", argc > 1 ? argv[1] : nullptr);
  gloaming::checkAll(seed);
  std::printf("kernels-searches: all searches agree\n");
  return 0;
}
