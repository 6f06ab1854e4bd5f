/* Whole searches by k-mers: chunks, sparse lists, threads, failures. */
#ifndef GLOAMING_TEST_KMER_SEARCHES_H
#define GLOAMING_TEST_KMER_SEARCHES_H

#include "test/kmer_case.h"
#include "test/search_case.h"

namespace gloaming {
namespace {

/* Checks the best ungapped scores of listed targets, with a giant among many. */
void checkKmerSearch(Pool& pool, const Kernels& kernels, Random& random, uint32_t threads) {
  std::vector<uint32_t> starts{0}, listed;
  std::vector<uint8_t> text;
  std::vector<std::vector<uint8_t>> queries;
  for (uint32_t t = 0; t < 300; ++t) {
    std::vector<uint8_t> target = textOf(t % 7 == 3 ? mutate(random, kmerProtein(random)) : kmerProtein(random));
    if (t == 150) target = textOf(std::string(kMaxLength, 'W'));
    if (t % 60 == 0) queries.push_back(target);
    if (t % 3 > 0) listed.push_back(t);
    text.insert(text.end(), target.begin(), target.end());
    starts.push_back(static_cast<uint32_t>(text.size()));
  }
  const auto letters = std::make_shared<TargetLetters>(std::move(starts), text.data(), text.size());
  const KmerPlaces places(queries);
  for (const auto& eligible : {std::optional(listed), std::optional<std::vector<uint32_t>>{}}) {
    Waiter waiter;
    const auto search = std::make_shared<KmerSearch>(kernels, letters, queries, eligible, waiter.done());
    pool.submit(search, threads);
    waiter.wait();
    require(!waiter.hasFailed && search->scores.size() == queries.size(), "a search by k-mers failed");
    require(search->scores[0].size() == (eligible ? listed.size() : 300), "a search by k-mers has other targets");
    for (size_t item = 0; item < search->scores[0].size(); ++item) {
      const uint32_t target = eligible ? listed[item] : static_cast<uint32_t>(item);
      uint32_t best[kCodedQueries];
      referenceKmerRows(places.view(), letters->letters(target), letters->length(target), 0, nullptr, best);
      for (size_t q = 0; q < queries.size(); ++q) {
        require(search->scores[q][item] == best[q], "a search by k-mers differs from the reference");
      }
    }
  }
  Waiter failed;
  pool.submit(std::make_shared<KmerSearch>(kernels, letters, std::vector<std::vector<uint8_t>>{{}}, std::nullopt,
                                           failed.done()),
              1);
  failed.wait();
  require(failed.hasFailed, "a query without residues did not fail");
}

}  // namespace
}  // namespace gloaming

#endif
