#include "engine/hit_search.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gloaming {
namespace {

/** Ungapped BLOSUM62 score up to which k-mers count nothing. Of targets with E > 10, fewer than one in a thousand
 * exceed it. With a lower one, the hits had fewer of the nearest targets. */
constexpr uint32_t kChanceKmers = 52;
/** Low bits of a float that ranks ignore: eight bits of the exponent and seven of the fraction are left. */
constexpr uint32_t kDroppedBits = 16;
constexpr size_t kSteps = size_t{1} << (31 - kDroppedBits);
/** Hits that are collected before the worst are dropped, as a multiple of the wanted ones. */
constexpr size_t kRoom = 4;

/* The bits of floats from 0 on are in the order of the floats. */
uint16_t stepOf(double score) {
  const auto rounded = static_cast<float>(score);
  uint32_t bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  return static_cast<uint16_t>(bits >> kDroppedBits);
}

/** Ranks by one kind of score. */
class Ranks {
 public:
  /* scoreAt(place): 0 to the largest float */
  template <class ScoreAt>
  Ranks(uint32_t count, const ScoreAt& scoreAt) : steps_(count), tails_(kSteps) {
    for (uint32_t place = 0; place < count; ++place) steps_[place] = stepOf(scoreAt(place));
    for (const uint16_t step : steps_) ++tails_[step];
    for (size_t step = kSteps - 1; step-- > 0;) tails_[step] += tails_[step + 1];
  }
  double of(uint32_t place) const { return tails_[steps_[place]]; }

 private:
  std::vector<uint16_t> steps_;
  /** Targets that have at least the score of a step. */
  std::vector<uint32_t> tails_;
};

}  // namespace

HitSearch::HitSearch(const Kernels& kernels, std::shared_ptr<const Codes> codes,
                     std::shared_ptr<const CodedSearch> coded, std::shared_ptr<const KmerSearch> kmers,
                     std::optional<std::vector<uint32_t>> eligible, uint32_t count, Done done)
    : CodedJob(kernels, std::move(done)), codes_(std::move(codes)), coded_(std::move(coded)), kmers_(std::move(kmers)),
      eligible_(std::move(eligible)), count_(count) {}

uint64_t HitSearch::prepare() {
  if (eligible_) checkTargets(*eligible_, true, codes_->targetCount());
  const size_t items = eligible_ ? eligible_->size() : codes_->targetCount(), queries = coded_->sums.size();
  if (kmers_->scores.size() != queries) throw ShapeError("both kinds of scores must be of the same queries");
  for (size_t query = 0; query < queries; ++query) {
    if (coded_->sums[query].excess.size() != items || kmers_->scores[query].size() != items) {
      throw ShapeError("both kinds of scores must be of the eligible targets");
    }
  }
  for (uint32_t place = 0; place < items; ++place) {
    roots_.push_back(std::sqrt(static_cast<double>(codes_->length(targetAt(place)))));
    fourthRoots_.push_back(std::sqrt(roots_.back()));
  }
  hits.resize(queries);
  return queries;
}

uint32_t HitSearch::kmersAt(uint64_t query, uint32_t place) const {
  const uint32_t score = kmers_->scores[query][place];
  return score > kChanceKmers ? score - kChanceKmers : 0;
}

/* The best targets, best first. */
std::vector<HitSearch::Ranked> HitSearch::bestOf(uint64_t query) const {
  const auto& [excess, votes] = coded_->sums[query];
  const auto count = static_cast<uint32_t>(roots_.size());
  const Ranks byExcess(count, [&](uint32_t place) { return excess[place] / roots_[place]; });
  const Ranks byVotes(count, [&](uint32_t place) { return votes[place] / fourthRoots_[place]; });
  const Ranks byKmers(count, [&](uint32_t place) { return kmersAt(query, place); });
  std::vector<Ranked> best;
  // From then on, no product above the bound is among the wanted.
  double bound = INFINITY;
  const auto dropWorst = [&] {
    std::nth_element(best.begin(), best.begin() + (count_ - 1), best.end());
    best.resize(count_);
    bound = best.back().product;
  };
  for (uint32_t place = 0; place < count; ++place) {
    const double product = byExcess.of(place) * byVotes.of(place) * byKmers.of(place);
    // Of equal products, the earlier place is better.
    if (product >= bound) continue;
    best.push_back({product, place});
    if (best.size() == kRoom * count_) dropWorst();
  }
  if (best.size() > count_) dropWorst();
  std::sort(best.begin(), best.end());
  return best;
}

void HitSearch::run(uint64_t query, Workspace&) {
  if (count_ == 0) return;
  const auto& [excess, votes] = coded_->sums[query];
  std::vector<Ranked> best = bestOf(query);
  best.erase(std::remove_if(best.begin(), best.end(),
                            [&](const Ranked& one) {
                              return excess[one.place] == 0 && votes[one.place] == 0 && kmersAt(query, one.place) == 0;
                            }),
             best.end());
  std::vector<uint32_t> order(best.size());
  for (uint32_t rank = 0; rank < order.size(); ++rank) order[rank] = rank;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return best[a].place < best[b].place; });
  for (const uint32_t rank : order) {
    hits[query].targets.push_back(targetAt(best[rank].place));
    hits[query].kmers.push_back(kmersAt(query, best[rank].place));
    hits[query].ranks.push_back(rank);
  }
}

}  // namespace gloaming
