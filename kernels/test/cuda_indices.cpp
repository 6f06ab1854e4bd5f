/* Compares the arithmetic of the CUDA kernels with the reference, bit for bit, on the CPU. The code of a team's lanes
 * (cuda/sweep.h) runs on emulated lanes and matrix instructions, over the shapes of the equality test. Further tests
 * cover filters, panels, slices, excesses and the choice of the best. Needs neither a GPU nor CUDA.
 *
 *   kernels-cuda-indices [seed]
 */
#include <numeric>
#include <optional>
#include <set>

#include "cuda/host/plan.h"
#include "cuda/select.h"
#include "test/case.h"
#include "test/emulated_team.h"

namespace gloaming {
namespace cuda {
namespace {

void require(bool holds, const char* what, const std::string& where = "") {
  if (holds) return;
  std::fprintf(stderr, "kernels-cuda-indices: %s %s\n", what, where.c_str());
  std::exit(1);
}

/** Smallest shared memory of a block: compute capability 8.6 and 8.9; 9.0. */
uint32_t sharedLimit(Variant variant) { return (variant == Variant::kPortable ? 99u : 227u) << 10; }

constexpr Variant kVariants[] = {Variant::kPortable, Variant::kHopper};

void emulate(Variant variant, uint32_t dimension, const SweepTask& task) {
  if (variant == Variant::kPortable) emulateSweep<Variant::kPortable>(dimension, task);
  else emulateSweep<Variant::kHopper>(dimension, task);
}

struct Proteins {
  uint32_t dimension;
  std::vector<std::vector<int8_t>> rows;

  uint32_t length(size_t i) const { return static_cast<uint32_t>(rows[i].size() / dimension); }
  Tokens tokens(size_t i) const { return {rows[i].data(), length(i), dimension}; }
};

Proteins makeProteins(Random& random, uint32_t dimension, const std::vector<uint32_t>& lengths) {
  Proteins proteins{dimension, {}};
  for (const uint32_t length : lengths) proteins.rows.push_back(randomRows(random, length, dimension));
  return proteins;
}

/* Limits by which a search is cut; small limits give many panels, slices and chunks. */
struct Cuts {
  uint32_t mostTiles = 1'000'000, chunkGroups = 64;
  uint64_t sliceGroups = 1'000'000;
};

struct Sums {
  std::vector<int32_t> queryToTarget, targetToQuery, queryExcess;
};

/* Runs a whole search by emulated launches, in place of the host side and a device. */
std::vector<Sums> searchEmulated(Variant variant, const Proteins& queries, const Proteins& targets,
                                 const std::vector<uint32_t>* eligible, std::optional<int32_t> floor,
                                 const Cuts& cuts) {
  const uint32_t dimension = targets.dimension;
  const Shape shape = shapeOf(variant, dimension);
  std::vector<uint32_t> firstGroups, lengths, listed;
  std::vector<uint8_t> packed;
  for (size_t t = 0; t < targets.rows.size(); ++t) {
    firstGroups.push_back(static_cast<uint32_t>(packed.size() / groupBytes(dimension)));
    lengths.push_back(targets.length(t));
    packed.resize(packed.size() + groupsOf(lengths.back()) * groupBytes(dimension));
    packTarget(targets.rows[t].data(), lengths.back(), dimension,
               packed.data() + size_t{firstGroups.back()} * groupBytes(dimension));
  }
  if (eligible == nullptr) listed = lengths;
  else
    for (const uint32_t target : *eligible) listed.push_back(lengths[target]);

  const std::vector<int32_t> unwritten(listed.size(), 77);
  std::vector<Sums> sums(queries.rows.size(), {unwritten, unwritten, unwritten});
  for (const Slice& slice : planSlices(listed, cuts.sliceGroups, cuts.chunkGroups)) {
    for (size_t q = 0; q < queries.rows.size(); ++q) {
      std::vector<int16_t> rowMaxima(size_t{slice.groupCount} * kGroupRows, 0x7fff);
      const uint32_t mostTiles = std::min(cuts.mostTiles, shape.panelTiles);
      const std::vector<Panel> panels = planPanels(queries.length(q), shape.tileRows(), mostTiles);
      for (const Panel& panel : panels) {
        uint32_t taken = 0;
        SweepTask task{};
        task.queryRows = panel.rows;
        task.queryTiles = tilesOf(variant, dimension, panel.rows);
        require(task.queryTiles <= mostTiles, "a panel is too large");
        std::vector<uint8_t> query(panelBytes(variant, dimension, task.queryTiles));
        packQuery(variant, queries.tokens(q), panel.firstRow, panel.rows, query.data());
        task.query = query.data();
        task.tokens = packed.data();
        task.targets = {firstGroups.data(), lengths.data(), eligible == nullptr ? nullptr : eligible->data()};
        task.chunks = slice.chunks.data();
        task.chunkCount = static_cast<uint32_t>(slice.chunks.size());
        task.takenChunks = &taken;
        task.queryToTarget = sums[q].queryToTarget.data();
        task.targetToQuery = sums[q].targetToQuery.data();
        task.queryExcess = floor ? sums[q].queryExcess.data() : nullptr;
        task.floor = static_cast<uint32_t>(floor.value_or(0));
        task.rowMaxima = panels.size() > 1 ? rowMaxima.data() : nullptr;
        task.isFirstPanel = &panel == &panels.front();
        task.isLastPanel = &panel == &panels.back();
        emulate(variant, dimension, task);
      }
    }
  }
  return sums;
}

void checkSearch(const Proteins& queries, const Proteins& targets, const std::vector<uint32_t>* eligible,
                 std::optional<int32_t> floor, const Cuts& cuts, const std::string& where) {
  std::vector<uint32_t> all(targets.rows.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<uint32_t>& listed = eligible == nullptr ? all : *eligible;
  std::vector<std::vector<Sums>> found;
  for (const Variant variant : kVariants) {
    found.push_back(searchEmulated(variant, queries, targets, eligible, floor, cuts));
  }
  for (size_t q = 0; q < queries.rows.size(); ++q) {
    for (size_t item = 0; item < listed.size(); ++item) {
      const Tokens query = queries.tokens(q), target = targets.tokens(listed[item]);
      const MaxSim expected = maxsimReference(query, target);
      const int32_t excess = floor ? excessReference(query, target, *floor) : 77;
      for (size_t way = 0; way < found.size(); ++way) {
        require(found[way][q].queryToTarget[item] == expected.queryToTarget &&
                    found[way][q].targetToQuery[item] == expected.targetToQuery,
                "the emulated kernel differs from the reference, variant", std::to_string(way) + ": " + where);
        require(found[way][q].queryExcess[item] == excess, "the emulated kernel differs in excesses, variant",
                std::to_string(way) + ": " + where);
      }
    }
  }
}

/* Checks the shapes of test/equality.cpp with each kind of rows. */
uint32_t checkShapes(Random& random) {
  uint32_t done = 0;
  const auto check = [&](uint32_t dimension, uint32_t queryLength, uint32_t targetLength, Kind kind) {
    const uint64_t seed = random();
    Random own(seed);
    Proteins query{dimension, {rowsOf(own, kind, queryLength, dimension)}};
    Proteins target{dimension, {rowsOf(own, kind, targetLength, dimension)}};
    if (kind == Kind::kRelated) {
      const auto homolog = homologRows(own, query.rows[0], dimension);
      std::copy_n(homolog.begin(), std::min(homolog.size(), target.rows[0].size()), target.rows[0].begin());
    }
    checkSearch(query, target, nullptr, randomFloor(own), {},
                Case{seed, dimension, queryLength, targetLength, static_cast<uint32_t>(kind), {}}.line());
    ++done;
  };
  constexpr uint32_t kLengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 127, 128, 129};
  for (uint32_t dimension = kDimensionStep; dimension <= kMaxDimension; dimension += kDimensionStep) {
    for (const uint32_t length : kLengths) {
      for (const uint32_t other : {1u, 16u, 17u, 65u, 1 + below(random, 200)}) {
        check(dimension, length, other, Kind::kRandom);
        check(dimension, other, length, Kind::kRelated);
      }
    }
  }
  for (uint32_t kind = 0; kind < static_cast<uint32_t>(Kind::kCount); ++kind) {
    for (int repeat = 0; repeat < 8; ++repeat) {
      check(32 * (1 + below(random, 8)), 1 + below(random, 150), 1 + below(random, 150), Kind(kind));
    }
  }
  check(32, 4'095, 64, Kind::kRelated);
  check(64, 33, 4'095, Kind::kRandom);
  return done;
}

/* Checks many proteins and queries at once, with filters, in small panels, slices and chunks. */
void checkSearches(Random& random) {
  for (const uint32_t dimension : {32u, 128u, 256u}) {
    std::vector<uint32_t> lengths;
    for (uint32_t t = 0; t < 60; ++t) lengths.push_back(1 + below(random, t % 9 == 0 ? 500 : t % 4 == 0 ? 9 : 70));
    const Proteins targets = makeProteins(random, dimension, lengths);
    std::vector<uint32_t> queryLengths{3, 17, 64, 200, 1, 65};
    for (uint32_t q = 0; q < 15; ++q) queryLengths.push_back(1 + below(random, 20));
    const Proteins queries = makeProteins(random, dimension, queryLengths);
    std::vector<uint32_t> some;
    for (uint32_t t = 0; t < 60; ++t) {
      if (below(random, 3) == 0) some.push_back(t);
    }
    const std::vector<uint32_t> one{59}, none;
    const Cuts cuts[] = {{}, {1, 4, 30}, {4, 1, 1}, {5, 1'000, 50}};
    for (const Cuts& cut : cuts) {
      checkSearch(queries, targets, nullptr, randomFloor(random), cut, "in a search of many proteins");
      checkSearch(queries, targets, nullptr, std::nullopt, cut, "in a search without excesses");
      for (const auto& eligible : {some, one, none}) {
        checkSearch(queries, targets, &eligible, randomFloor(random), cut, "in a filtered search of many proteins");
      }
    }
  }
}

/* Every element of a matrix has one place in the fragments, and packing writes every byte of a target. */
void checkLayout(Random& random) {
  std::set<std::pair<uint32_t, uint32_t>> a, b, d;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t byte = 0; byte < 4; ++byte) {
      for (uint32_t i = 0; i < 4; ++i) a.insert({fragmentA(lane, i).row, fragmentA(lane, i).column + byte});
      for (uint32_t i = 0; i < 2; ++i) b.insert({fragmentB(lane, i).row, fragmentB(lane, i).column + byte});
    }
    for (uint32_t i = 0; i < 32; ++i) d.insert({fragmentD(lane, i).row, fragmentD(lane, i).column});
  }
  require(a.size() == 16 * 32 && a.rbegin()->first == 15 && b.size() == 8 * 32 && b.rbegin()->first == 7,
          "an operand's fragments do not cover it");
  require(d.size() == 16 * 64 && d.rbegin()->first == 15, "the results' do not");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t k = 0; k < 16; ++k) {
      const Place place = fragmentA(lane, k % 4);
      require(operandAOffset(lane, k / 4, k % 4) == coreOffset(place.row % 8, k / 4 * kStepBytes + place.column, 128),
              "operand A is not where a group has it");
    }
  }
  for (uint32_t dimension = 32; dimension <= 256; dimension += 32) {
    const uint32_t length = 1 + below(random, 40);
    const auto rows = randomRows(random, length, dimension);
    std::vector<uint8_t> packed(groupsOf(length) * groupBytes(dimension));
    packTarget(rows.data(), length, dimension, packed.data());
    for (uint32_t row = 0; row < groupsOf(length) * kGroupRows; ++row) {
      for (uint32_t byte = 0; byte < dimension; ++byte) {
        const int8_t wanted = rows[size_t{std::min(row, length - 1)} * dimension + byte];
        require(static_cast<int8_t>(packed[coreOffset(row, byte, dimension)]) == wanted, "a packed byte is misplaced");
      }
    }
  }
}

void checkPairs(Random& random) {
  for (int repeat = 0; repeat < 20'000; ++repeat) {
    const auto a = static_cast<uint32_t>(random()), b = static_cast<uint32_t>(random());
    const uint32_t larger = largerPair(a, b);
    require(lowOf(larger) == std::max(lowOf(a), lowOf(b)) && highOf(larger) == std::max(highOf(a), highOf(b)),
            "a maximum of pairs is wrong");
    require(lowOf(joinLow(a, b)) == lowOf(a) && highOf(joinLow(a, b)) == lowOf(b) &&
                lowOf(joinHigh(a, b)) == highOf(a) && highOf(joinHigh(a, b)) == highOf(b),
            "joined halves are wrong");
  }
  require(largerPair(kLeastPair, 0x80018001u) == 0x80018001u && lowOf(kLeastWord) == -32'768, "the least is not least");
  require(largestWord(kLeastWord, 7, 0xffffffff) == 7, "a maximum of words is wrong");
}

/* Panels fit in shared memory, cover the query, and differ by less than a tile for each panel. */
void checkShape() {
  for (const Variant variant : kVariants) {
    for (uint32_t dimension = 32; dimension <= 256; dimension += 32) {
      const Shape shape = shapeOf(variant, dimension);
      require(panelBytes(variant, dimension, shape.panelTiles) <= sharedLimit(variant), "a panel does not fit");
      for (const uint32_t length : {1u, 63u, 64u, 65u, 300u, 321u, 1'000u, 35'000u}) {
        uint32_t row = 0;
        const auto panels = planPanels(length, shape.tileRows(), shape.panelTiles);
        for (const Panel& panel : panels) {
          require(panel.firstRow == row && panel.rows > 0, "panels do not follow each other");
          require(tilesOf(variant, dimension, panel.rows) <= shape.panelTiles, "a panel is too large");
          row += panel.rows;
        }
        const uint32_t panelRows = shape.panelGroups() * kGroupRows;
        require(row == length && panels.size() == (length + panelRows - 1) / panelRows, "the panels are not the query");
      }
    }
  }
}

/* Keys have the order of the exact fractions, and the digits select the k-th key. */
void checkSelect(Random& random) {
  for (int repeat = 0; repeat < 200'000; ++repeat) {
    const bool small = below(random, 2) == 0;
    const uint32_t longest = small ? 64 : 40'000, shift = rankShift(longest), queryLength = 1 + below(random, 12'000);
    require(hasRankKeys(queryLength, longest), "keys of this size must fit");
    const auto length = [&] { return 1 + below(random, longest); };
    const auto sum = [&] {
      const int64_t limit = small ? 50 : int64_t{queryLength} * 32'767;
      return static_cast<int32_t>(static_cast<int64_t>(random() % (2 * limit + 1)) - limit);
    };
    const uint32_t l[2] = {length(), length()};
    const int32_t qt[2] = {sum(), sum()};
    const int32_t tq[2] = {sum() % static_cast<int32_t>(l[0] * 32'767), sum() % static_cast<int32_t>(l[1] * 32'767)};
    __int128 fraction[2];
    for (int i = 0; i < 2; ++i) fraction[i] = __int128{qt[i]} * l[i] + __int128{tq[i]} * queryLength;
    const __int128 left = fraction[0] * l[1], right = fraction[1] * l[0];
    const uint64_t a = rankKey(qt[0], tq[0], queryLength, l[0], shift);
    const uint64_t b = rankKey(qt[1], tq[1], queryLength, l[1], shift);
    require((left < right) == (a < b) && (left == right) == (a == b), "a key does not order as its fraction");
  }
  require(!hasRankKeys(65'535, 65'535), "these keys cannot fit");
  for (int repeat = 0; repeat < 300; ++repeat) {
    std::vector<uint64_t> keys(1 + below(random, 400));
    for (uint64_t& key : keys) key = below(random, 2) == 0 ? random() : random() % 5 << 32;
    SelectState state{0, 1 + below(random, static_cast<uint32_t>(keys.size()))};
    const uint32_t wanted = state.wanted;
    for (uint32_t digit = 0; digit < kDigitCount; ++digit) {
      uint32_t histogram[kDigits] = {};
      for (const uint64_t key : keys) {
        if (beginsLike(key, state.prefix, digit)) ++histogram[digitOf(key, digit)];
      }
      state = pickDigit(histogram, state, digit);
    }
    std::sort(keys.rbegin(), keys.rend());
    require(state.prefix == keys[wanted - 1], "the digits find another key than sorting");
  }
}

}  // namespace
}  // namespace cuda
}  // namespace gloaming

int main(int argc, char** argv) {
  const uint64_t seed = gloaming::seedOf("kernels-cuda-indices", argc > 1 ? argv[1] : nullptr);
  gloaming::Random random(seed);
  gloaming::cuda::checkPairs(random);
  gloaming::cuda::checkLayout(random);
  gloaming::cuda::checkShape();
  gloaming::cuda::checkSelect(random);
  gloaming::cuda::checkSearches(random);
  std::printf("kernels-cuda-indices: %u shapes agree, both kernels\n", gloaming::cuda::checkShapes(random));
  return 0;
}
