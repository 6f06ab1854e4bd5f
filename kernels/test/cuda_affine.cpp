/* Compares the code of the CUDA kernels for affine scores, on emulated lanes, with the reference, bit for bit. The
 * cases have lengths near the edges of lanes and strips, panels, letters, and parameters at the ends of their ranges.
 *
 *   kernels-cuda-affine [seed]
 */

#include "cuda/host/affine_plan.h"
#include "cuda/host/plan.h"
#include "test/case.h"
#include "test/emulated_warp.h"

namespace gloaming {
namespace cuda {
namespace {

constexpr AffineParameters kTypical{600, 2, 20, 3};
/** Free gaps, costly gaps, scores that exceed 16 bits after a few pairs, and scores of at most zero. */
constexpr AffineParameters kParameters[] = {
    kTypical,
    {1, 0, 0, 0},
    {32'767, 0, 1, 0},
    {32'767, -16'256, 4'095, 4'095},
    {32'767, 32'639, 5, 5},
    {3'000, 40, 11, 1},
    {32'767, 8'000, 4'095, 0},
};

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "kernels-cuda-affine: %s\n", what);
  std::exit(1);
}

std::vector<uint8_t> randomLetters(Random& random, size_t count) {
  std::vector<uint8_t> letters(count);
  for (uint8_t& letter : letters) letter = static_cast<uint8_t>(below(random, kLetterCount));
  return letters;
}

std::vector<int8_t> randomScores(Random& random) {
  std::vector<int8_t> scores(kLetterCount * kLetterCount);
  for (int8_t& score : scores) score = static_cast<int8_t>(static_cast<int>(below(random, 255)) - 127);
  return scores;
}

/* A query and targets, as rows and in the device's layout. */
struct Launch {
  uint32_t dimension;
  AffineParameters parameters;
  std::vector<int8_t> query, letterScores;
  std::vector<std::vector<int8_t>> targets;
  std::vector<uint8_t> queryLetters, targetLetters, packedTargets;
  std::vector<uint32_t> firstGroups, lengths;
  std::vector<AffineItem> items;

  Launch(Random& random, Kind kind, uint32_t dimension, uint32_t queryLength, const std::vector<uint32_t>& lengths,
         AffineParameters given, bool hasLetters)
      : dimension(dimension), parameters(given), query(rowsOf(random, kind, queryLength, dimension)),
        letterScores(randomScores(random)), queryLetters(randomLetters(random, queryLength)), lengths(lengths) {
    if (hasLetters) parameters.letterScores = letterScores.data();
    uint32_t columns = 0, groups = 0;
    for (uint32_t t = 0; t < lengths.size(); ++t) {
      targets.push_back(rowsOf(random, kind, lengths[t], dimension));
      if (kind == Kind::kRelated) {
        const std::vector<int8_t> homolog = homologRows(random, query, dimension);
        std::copy_n(homolog.begin(), std::min(homolog.size(), targets[t].size()), targets[t].begin());
      }
      firstGroups.push_back(groups);
      items.push_back({t, columns});
      groups += groupsOf(lengths[t]);
      columns += lengths[t];
      packedTargets.resize(size_t{groups} * groupBytes(dimension));
      packTarget(targets[t].data(), lengths[t], dimension,
                 packedTargets.data() + size_t{firstGroups[t]} * groupBytes(dimension));
    }
    targetLetters = randomLetters(random, columns + kLetterPadding);
    // Shuffled, so that places in the launch differ from numbers of targets.
    std::reverse(items.begin(), items.end());
  }

  Tokens tokens() const { return {query.data(), static_cast<uint32_t>(query.size() / dimension), dimension}; }

  /* Runs the launches of a GPU, with the given number of strips in a panel. */
  void check(uint32_t panelStrips) const {
    const auto packedQuery = packAffineQuery(tokens());
    const auto packedScores = packLetterScores(parameters, queryLetters.data(), tokens());
    std::vector<Edge> edges(targetLetters.size(), Edge{7'777, 7'777, 7'777});
    std::vector<int32_t> found[3];
    for (auto& values : found) values.assign(items.size(), 0);
    const uint32_t strips = stripsOf(tokens().length, dimension);
    for (uint32_t strip = 0; strip < strips; strip += panelStrips) {
      uint32_t taken = 0;
      // Members in lines that are filled.
      // clang-format off
      emulateAffine(dimension,
                    {packedTargets.data(), firstGroups.data(), lengths.data(), items.data(),
                     static_cast<uint32_t>(items.size()), &taken, packedQuery.data(),
                     reinterpret_cast<const uint32_t*>(packedScores.data()), tokens().length, strip,
                     std::min(strip + panelStrips, strips), parameters.multiplier, parameters.offset,
                     parameters.gapOpen, parameters.gapExtend,
                     parameters.letterScores == nullptr ? nullptr : targetLetters.data(), edges.data(),
                     found[0].data(), found[1].data(), found[2].data()});
      // clang-format on
    }
    const PackedQuery own{tokens(), nullptr};
    const std::atomic<bool> cancelled{false};
    Workspace workspace;
    for (size_t place = 0; place < items.size(); ++place) {
      const auto [target, firstColumn] = items[place];
      const Tokens rows{targets[target].data(), lengths[target], dimension};
      const Letters letters{queryLetters.data(), targetLetters.data() + firstColumn};
      const int32_t score =
          referenceAffineScore({own, rows.values, rows.length, letters, {}, parameters, workspace, cancelled});
      require(found[0][place] == score, "a score differs from the reference");
      const MaxSim sums = maxsimReference(tokens(), rows);
      require(found[1][place] == sums.queryToTarget && found[2][place] == sums.targetToQuery,
              "a sum differs from the reference");
    }
  }
};

uint32_t checkAll(uint64_t seed) {
  Random random(seed);
  uint32_t done = 0;
  const auto check = [&](Kind kind, uint32_t dimension, uint32_t queryLength, const std::vector<uint32_t>& lengths,
                         const AffineParameters& parameters) {
    for (const bool hasLetters : {false, true}) {
      const Launch launch(random, kind, dimension, queryLength, lengths, parameters, hasLetters);
      for (const uint32_t panelStrips : {1u, 2u, 1'000u}) launch.check(panelStrips);
      done += static_cast<uint32_t>(lengths.size());
    }
  };
  for (uint32_t dimension = kDimensionStep; dimension <= kMaxDimension; dimension += kDimensionStep) {
    const uint32_t rows = laneRows(dimension), strip = stripRows(dimension);
    for (const uint32_t length : {1u, rows, rows + 1, strip - 1, strip, strip + 1, 2 * strip, 2 * strip + rows + 1}) {
      check(Kind::kRelated, dimension, length, {1, 2, 31, 32, 33, 1 + below(random, 150)}, kTypical);
    }
    check(Kind::kRandom, dimension, 1 + below(random, 400), {8, 9, 65, 300}, kTypical);
  }
  for (uint32_t kind = 0; kind < static_cast<uint32_t>(Kind::kCount); ++kind) {
    for (const AffineParameters& parameters : kParameters) {
      const uint32_t dimension = kDimensionStep * (1 + below(random, 8));
      check(Kind(kind), dimension, 1 + below(random, 150), {1 + below(random, 150), 40, 7, 1}, parameters);
    }
  }
  for (const AffineParameters& parameters : kParameters) check(Kind::kRelated, 32, 700, {900, 64}, parameters);
  return done;
}

/* Slices contain each item once, in order, and fit all edges; long pairs take several launches. */
void checkPlans() {
  for (const uint32_t longest : {1u, 300u, 40'000u, kMaxLength}) {
    std::vector<uint32_t> lengths(300, longest);
    for (uint32_t t = 0; t < lengths.size(); ++t) lengths[t] -= std::min(t * 100, longest - 1);
    uint32_t next = 0;
    for (const AffineSlice& slice : planAffine(lengths, 5'000, 128, 132)) {
      require(slice.firstItem == next && slice.endItem > next, "a slice leaves items out");
      uint32_t columns = 0;
      for (uint32_t item = slice.firstItem; item < slice.endItem; ++item) columns += lengths[item];
      require(columns == slice.columns && columns <= (64u << 20) / sizeof(Edge), "a slice has no room for its edges");
      require(slice.panelStrips >= 1 && slice.panelStrips <= stripsOf(5'000, 128), "a panel is no part of a query");
      next = slice.endItem;
    }
    require(next == lengths.size(), "slices leave items out");
  }
  require(planAffine({kMaxLength}, kMaxLength, 256, 132).front().panelStrips == 1, "a giant pair takes one launch");
  require(planAffine({400, 300}, 300, 128, 132).front().panelStrips == 3, "a small pair takes several launches");
  require(planAffine({}, 10, 32, 132).empty(), "a slice has no items");
}

}  // namespace
}  // namespace cuda
}  // namespace gloaming

int main(int argc, char** argv) {
  const uint64_t seed = gloaming::seedOf("kernels-cuda-affine", argc > 1 ? argv[1] : nullptr);
  gloaming::cuda::checkPlans();
  std::printf("kernels-cuda-affine: %u pairs agree\n", gloaming::cuda::checkAll(seed));
  return 0;
}
