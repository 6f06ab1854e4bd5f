/* The hits of the codebook prefilter, by plain loops over the scores of both searches. */
#ifndef GLOAMING_TEST_HIT_SEARCHES_H
#define GLOAMING_TEST_HIT_SEARCHES_H

#include <algorithm>
#include <cmath>

#include "engine/hit_search.h"
#include "test/search_case.h"

namespace gloaming {
namespace {

/* Targets with at least the score of each, if scores keep seven binary digits after the first. */
std::vector<double> ranksOf(const std::vector<double>& scores) {
  std::vector<double> ranks;
  const auto rounded = [](double score) {
    int exponent;
    const double fraction = std::frexp(static_cast<double>(static_cast<float>(score)), &exponent);
    return std::ldexp(std::floor(fraction * 256), exponent);
  };
  for (const double own : scores) {
    ranks.push_back(static_cast<double>(
        std::count_if(scores.begin(), scores.end(), [&](double other) { return rounded(other) >= rounded(own); })));
  }
  return ranks;
}

/* A character per residue of all targets. Every fourth target has the same letters. */
std::vector<uint8_t> lettersOf(const Codes& codes) {
  constexpr char letters[] = "ACDEFGHIKLMNPQRSTVWY";
  std::vector<uint8_t> text;
  for (uint32_t t = 0; t < codes.targetCount(); ++t) {
    for (uint32_t row = 0; row < codes.length(t); ++row) {
      text.push_back(static_cast<uint8_t>(letters[row * (t % 4 + 3) % 20]));
    }
  }
  return text;
}

/* Checks the hits of the queries of a search by codes among its targets. Each query has the letters of one of these. */
void checkHits(Pool& pool, const Kernels& kernels, const std::shared_ptr<const Codes>& codes,
               const std::shared_ptr<const CodedSearch>& coded, const std::vector<uint32_t>& listed, uint32_t threads) {
  const std::vector<uint8_t> text = lettersOf(*codes);
  std::vector<uint32_t> starts{0};
  for (uint32_t t = 0; t < codes->targetCount(); ++t) starts.push_back(starts.back() + codes->length(t));
  std::vector<std::vector<uint8_t>> queries;
  for (size_t q = 0; q < coded->sums.size(); ++q) {
    const uint32_t target = listed[q % listed.size()];
    queries.emplace_back(text.begin() + starts[target], text.begin() + starts[target + 1]);
  }
  const auto letters = std::make_shared<TargetLetters>(starts, text.data(), text.size());
  Waiter byKmers;
  const auto kmers = std::make_shared<KmerSearch>(kernels, letters, queries, listed, byKmers.done());
  pool.submit(kmers, threads);
  byKmers.wait();
  for (const uint32_t count : {0u, 1u, 3u, 100u}) {
    Waiter waiter;
    const auto search = std::make_shared<HitSearch>(kernels, codes, coded, kmers, listed, count, waiter.done());
    pool.submit(search, threads);
    waiter.wait();
    require(!waiter.hasFailed && search->hits.size() == queries.size(), "a search for hits failed");
    for (size_t q = 0; q < queries.size(); ++q) {
      std::vector<double> excess, votes, above;
      for (size_t item = 0; item < listed.size(); ++item) {
        const double root = std::sqrt(codes->length(listed[item])), fourth = std::sqrt(root);
        excess.push_back(coded->sums[q].excess[item] / root);
        votes.push_back(coded->sums[q].votes[item] / fourth);
        above.push_back(std::max(0.0, kmers->scores[q][item] - 52.0));
      }
      const std::vector<double> byExcess = ranksOf(excess), byVotes = ranksOf(votes), byAbove = ranksOf(above);
      std::vector<size_t> order;
      for (size_t item = 0; item < listed.size(); ++item) {
        if (excess[item] + votes[item] + above[item] > 0) order.push_back(item);
      }
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return byExcess[a] * byVotes[a] * byAbove[a] < byExcess[b] * byVotes[b] * byAbove[b];
      });
      order.resize(std::min<size_t>(order.size(), count));
      const HitSearch::Hits& found = search->hits[q];
      require(found.targets.size() == order.size() && std::is_sorted(found.targets.begin(), found.targets.end()),
              "hits are too many or too few, or in another order");
      for (size_t at = 0; at < found.targets.size(); ++at) {
        const size_t item = order[found.ranks[at]];
        require(found.targets[at] == listed[item] && found.kmers[at] == above[item], "a hit differs");
      }
    }
  }
  Waiter failed;
  pool.submit(std::make_shared<HitSearch>(kernels, codes, coded, kmers, std::nullopt, 5, failed.done()), 1);
  failed.wait();
  require(failed.hasFailed, "hits among targets without scores did not fail");
}

}  // namespace
}  // namespace gloaming

#endif
