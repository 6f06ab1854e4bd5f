/* Compares all kernels that run on this machine with the reference, bit for bit, over random and adversarial shapes.
 *
 *   kernels-equality [seed]
 *
 * The test covers every table of dispatch.cpp, and the plain twins of assembly. Without AMX it tests emulated tiles. */

#include "engine/alignments.h"
#include "engine/moments.h"
#include "test/case.h"
#include "test/coded_case.h"
#include "test/encoder_case.h"
#include "test/kmer_case.h"

namespace gloaming {
namespace {

constexpr AffineParameters kTypical{600, 2, 20, 3};
// A table.
// clang-format off
/** Free gaps, costly gaps, scores that exceed 16 bits after a few pairs, and scores of at most zero. */
constexpr AffineParameters kParameters[] = {
    kTypical,           {1, 0, 0, 0},      {32'767, 0, 1, 0},       {32'767, -16'384, 4'095, 4'095},
    {32'767, 32'767, 5, 5}, {3'000, 40, 11, 1}, {32'767, 8'000, 4'095, 0},
};
// clang-format on
constexpr uint32_t kLengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100};

/* Checks full and partial batches on every table. Every fifth target is a homolog, whose score may exceed 16 bits.
 * Returns the number of batches. */
uint32_t checkBatches(Random& random, AffineParameters parameters) {
  constexpr uint32_t dimension = 32;
  const uint32_t queryLength = 1 + below(random, 400);
  const std::vector<int8_t> query = randomRows(random, queryLength, dimension);
  const Tokens tokens{query.data(), queryLength, dimension};
  const std::vector<uint8_t> letters(kMaxLength + kLetterPadding);
  const std::vector<int8_t> profile = randomProfiles(random, queryLength);
  const bool hasProfiles = parameters.offset >= -8'192 && below(random, 2) == 0;
  if (hasProfiles) parameters.profileWeight = static_cast<int32_t>(1 + below(random, 2'000));
  const int8_t* ownProfile = hasProfiles ? profile.data() : nullptr;
  const std::atomic<bool> cancelled{false};
  Workspace workspace;
  uint32_t done = 0;
  for (const Kernels* table : tablesToCheck()) {
    if (table->affineBatch == 1) continue;
    const std::unique_ptr<void, decltype(&std::free)> packed(
        std::aligned_alloc(64, roundUp(table->affinePackedBytes(queryLength, dimension), 64)), std::free);
    table->affinePack({tokens, letters.data(), ownProfile, parameters}, packed.get());
    const PackedQuery own{tokens, packed.get()};
    const uint32_t lanes = table->affineBatch;
    // With more targets than lanes, targets follow each other in a lane.
    for (const uint32_t count : {1 + below(random, lanes), lanes + 1 + below(random, lanes)}) {
      std::vector<std::vector<int8_t>> targets, profiles;
      std::vector<AffineTask> tasks;
      for (uint32_t t = 0; t < count; ++t) {
        targets.push_back(t % 5 == 0 ? homologRows(random, query, dimension)
                                     : randomRows(random, 1 + below(random, 300), dimension));
        const auto length = static_cast<uint32_t>(targets[t].size() / dimension);
        profiles.push_back(randomProfiles(random, length));
        const Profiles both{ownProfile, hasProfiles ? profiles[t].data() : nullptr};
        tasks.push_back(
            {own, targets[t].data(), length, {letters.data(), letters.data()}, both, parameters, workspace, cancelled});
      }
      std::vector<int32_t> scores(count);
      table->affineScores(tasks.data(), count, scores.data());
      std::vector<PairSums> sums;
      for (const AffineTask& task : tasks) sums.push_back(referenceSums(task));
      if (!sameMeasures(*table, tasks, scores, sums)) {
        std::fprintf(stderr, "%s measures a batch differently\n", table->name);
        std::exit(1);
      }
      for (uint32_t t = 0; t < count; ++t) {
        if (scores[t] == referenceAffineScore(tasks[t])) continue;
        std::fprintf(stderr, "%s differs from the reference in target %u of a batch\n", table->name, t);
        std::exit(1);
      }
      ++done;
    }
  }
  return done;
}

/* Rows of a target that has the pieces of a query in any order, each as a homolog, some of them twice. */
std::vector<int8_t> shuffledPieces(Random& random, const std::vector<int8_t>& query, uint32_t dimension) {
  std::vector<int8_t> target;
  const size_t third = query.size() / dimension / 3 * dimension;
  for (uint32_t piece = 0; piece < 3 + below(random, 2); ++piece) {
    const auto first = query.begin() + static_cast<ptrdiff_t>(third * below(random, 3));
    const std::vector<int8_t> own(first, first + static_cast<ptrdiff_t>(third));
    const std::vector<int8_t> rows = below(random, 3) == 0 ? own : homologRows(random, own, dimension);
    target.insert(target.end(), rows.begin(), rows.end());
    const std::vector<int8_t> between = randomRows(random, below(random, 8), dimension);
    target.insert(target.end(), between.begin(), between.end());
  }
  return target;
}

/* Checks lists of alignments of a pair on every table: of shuffled pieces, or of rows with many equal scores. Returns
 * the number of alignments. */
size_t checkAlignmentLists(Random& random, Kind kind, AffineParameters parameters) {
  constexpr uint32_t dimension = 32;
  const uint32_t queryLength = 3 + below(random, 50);
  const std::vector<int8_t> query = rowsOf(random, kind, queryLength, dimension);
  const std::vector<int8_t> target = kind == Kind::kRelated ? shuffledPieces(random, query, dimension)
                                                            : rowsOf(random, kind, 1 + below(random, 60), dimension);
  const auto targetLength = static_cast<uint32_t>(target.size() / dimension);
  std::vector<uint8_t> letters(2 * (queryLength + targetLength + kLetterPadding));
  for (uint8_t& letter : letters) letter = static_cast<uint8_t>(below(random, kLetterCount));
  std::vector<int8_t> letterScores(kLetterCount * kLetterCount);
  for (int8_t& score : letterScores) score = static_cast<int8_t>(static_cast<int>(below(random, 9)) - 4);
  if (parameters.offset >= -16'256 && below(random, 2) == 0) parameters.letterScores = letterScores.data();
  const std::vector<int8_t> ownProfile = randomProfiles(random, queryLength);
  const std::vector<int8_t> otherProfile = randomProfiles(random, targetLength);
  const bool hasProfiles = parameters.offset >= -8'192 && below(random, 2) == 0;
  if (hasProfiles) parameters.profileWeight = static_cast<int32_t>(1 + below(random, 500));
  const Profiles profiles = hasProfiles ? Profiles{ownProfile.data(), otherProfile.data()} : Profiles{};
  const Tokens tokens{query.data(), queryLength, dimension};
  const Letters both{letters.data(), letters.data() + queryLength};
  const std::atomic<bool> cancelled{false};
  Workspace workspace;
  const PackedQuery plain{tokens, query.data()};
  const AffineTask plainTask{plain, target.data(), targetLength, both, profiles, parameters, workspace, cancelled};
  const int32_t least = 1 + referenceAffineScore(plainTask) / static_cast<int32_t>(2 + below(random, 20));
  const uint32_t maxCount = 1 + below(random, 4);
  const AlignmentList expected = referenceAffineAlignAll(plainTask, least, maxCount);
  for (const Kernels* table : tablesToCheck()) {
    const std::unique_ptr<void, decltype(&std::free)> packed(
        std::aligned_alloc(64, roundUp(table->affinePackedBytes(queryLength, dimension), 64)), std::free);
    table->affinePack({tokens, letters.data(), profiles.query, parameters}, packed.get());
    const PackedQuery own{tokens, packed.get()};
    const AffineTask task{own, target.data(), targetLength, both, profiles, parameters, workspace, cancelled};
    if (sameLists(affineAlignAll(*table, task, least, maxCount), expected)) continue;
    std::fprintf(stderr, "%s differs from the reference in the alignments of a pair\n", table->name);
    std::exit(1);
  }
  return expected.alignments.size();
}

/* Checks lists of alignments of many kinds of pairs. Returns the number of pairs. */
uint32_t checkAllAlignmentLists(Random& random) {
  uint32_t done = 0;
  size_t alignmentCount = 0;
  for (uint32_t kind = 0; kind < static_cast<uint32_t>(Kind::kCount); ++kind) {
    for (const AffineParameters& parameters : kParameters) {
      const uint32_t repeats = Kind(kind) == Kind::kRelated ? 6 : 2;
      for (uint32_t repeat = 0; repeat < repeats; ++repeat, ++done) {
        alignmentCount += checkAlignmentLists(random, Kind(kind), parameters);
      }
    }
  }
  if (3 * alignmentCount < 4 * done) {
    std::fprintf(stderr, "%u pairs have %zu alignments, too few for a test\n", done, alignmentCount);
    std::exit(1);
  }
  return done;
}

/* Checks the second moments of random rows. */
void checkMoments(Random& random, uint32_t count, uint32_t dimension) {
  const std::vector<int8_t> rows = randomRows(random, count, dimension);
  std::vector<int32_t> expected(size_t{dimension} * (dimension + 1) / 2);
  referenceSecondMoments(rows.data(), count, dimension, expected.data());
  if (secondMoments(rows.data(), count, dimension) == expected) return;
  std::fprintf(stderr, "second moments of %u rows of dimension %u differ from the reference\n", count, dimension);
  std::exit(1);
}

/* Runs all cases. Returns their number. */
uint32_t checkAll(uint64_t seed) {
  Random random(seed);
  uint32_t done = 0;
  const auto check = [&](uint32_t dimension, uint32_t queryLength, uint32_t targetLength, Kind kind,
                         const AffineParameters& parameters) {
    checkCase({random(), dimension, queryLength, targetLength, static_cast<uint32_t>(kind), parameters});
    ++done;
  };
  for (const uint32_t dimension : {32u, 64u, 96u, 128u, 160u, 192u, 224u, 256u}) {
    for (const uint32_t length : kLengths) {
      for (const uint32_t other : {1u, 16u, 17u, 65u, 1 + below(random, 200)}) {
        check(dimension, length, other, Kind::kRandom, kTypical);
        check(dimension, other, length, Kind::kRelated, kTypical);
      }
    }
  }
  for (uint32_t kind = 0; kind < static_cast<uint32_t>(Kind::kCount); ++kind) {
    for (const AffineParameters& parameters : kParameters) {
      for (int repeat = 0; repeat < 3; ++repeat) {
        check(32 * (1 + below(random, 8)), 1 + below(random, 150), 1 + below(random, 150), Kind(kind), parameters);
      }
    }
  }
  // The only dot product of a pair of residues may be negative.
  for (int repeat = 0; repeat < 1'000; ++repeat) check(32, 1, 1, Kind::kBorder, kTypical);
  for (const uint32_t dimension : {32u, 64u, 128u, 256u}) {
    for (const AffineParameters& parameters : kParameters) {
      check(dimension, 1 + below(random, 100), 1 + below(random, 100), Kind::kWide, parameters);
    }
  }
  for (const AffineParameters& parameters : kParameters) {
    check(32, 700, 900, Kind::kRelated, parameters);
    for (int repeat = 0; repeat < 3; ++repeat) done += checkBatches(random, parameters);
  }
  for (const uint32_t count : {1u, 2u, 15u, 16u, 17u, 256u, 257u, 258u, 600u, kMaxLength}) {
    for (int repeat = 0; repeat < 3; ++repeat, ++done) checkCoded(random(), count);
  }
  for (int repeat = 0; repeat < 60; ++repeat) done += checkKmers(random());
  for (const uint32_t length : kLengths) done += checkEncoder(random, length);
  for (const uint32_t length : {127u, 128u, 129u, 300u}) done += checkEncoder(random, length);
  for (const uint32_t dimension : {1u, 6u, 32u, 33u, 64u, 128u, 256u}) {
    for (const uint32_t count : {0u, 1u, 7u, 8u, 9u, 255u, 256u}) checkMoments(random, count, dimension), ++done;
  }
  done += checkAllAlignmentLists(random);
  check(32, 4'095, 64, Kind::kRelated, kTypical);
  check(64, 33, 4'095, Kind::kRandom, kTypical);
  check(32, 2'000, 4'095, Kind::kRelated, kTypical);
  // Flags exceed kFlagBytes, with 16-bit and with 32-bit scores.
  check(32, 2'600, 12'000, Kind::kRelated, {20, 2, 20, 3});
  check(32, 2'600, 12'000, Kind::kRelated, kTypical);
  return done;
}

}  // namespace
}  // namespace gloaming

int main(int argc, char** argv) {
  const uint64_t seed = gloaming::seedOf("kernels-equality", argc > 1 ? argv[1] : nullptr);
  std::printf("kernels-equality: %u cases agree\n", gloaming::checkAll(seed));
  return 0;
}
