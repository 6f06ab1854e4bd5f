/* The teams of the CUDA kernels in plain C++: lanes are arrays, and shared memory is a vector. The matrix instructions
 * follow their definition in the PTX manual, with the fragment maps and descriptors of cuda/layout.h. sweep.h runs on
 * it unchanged. */
#ifndef GLOAMING_TEST_EMULATED_TEAM_H
#define GLOAMING_TEST_EMULATED_TEAM_H

#include <cstring>
#include <vector>

#include "cuda/sweep.h"

namespace gloaming {
namespace cuda {

template <Variant kVariant, uint32_t kDimension, bool kPacks = true>
class EmulatedTeam {
 public:
  static constexpr Shape kShape = shapeOf(kVariant, kDimension);
  static constexpr uint32_t kLanes = kShape.lanes, kGroups = kShape.groups, kWarps = kLanes / 32;
  static constexpr bool kIsHopper = kVariant == Variant::kHopper;
  static constexpr bool kFetchesAhead = kIsHopper, kPacksEarly = kPacks;
  struct Word {
    uint32_t lane[kLanes];
  };

  explicit EmulatedTeam(const SweepTask& task)
      : task_(task), plan_(planShared(kVariant, kDimension, task.queryTiles)), shared_(plan_.bytes, 0xa5) {
    std::memcpy(shared_.data(), task.query, task.queryBytes);
    std::memset(registers_, 0x5a, sizeof registers_);
  }

  template <class Function, class... Words>
  Word map(Function function, const Words&... words) const {
    Word result;
    for (uint32_t lane = 0; lane < kLanes; ++lane) result.lane[lane] = function(words.lane[lane]...);
    return result;
  }
  template <class Function, class... Words>
  Word mapLanes(Function function, const Words&... words) const {
    Word result;
    for (uint32_t lane = 0; lane < kLanes; ++lane) result.lane[lane] = function(lane, words.lane[lane]...);
    return result;
  }
  Word fill(uint32_t value) const {
    return mapLanes([value](uint32_t) { return value; });
  }
  uint32_t uniform(uint32_t value) const { return value; }
  Word shuffleXor(const Word& word, uint32_t mask) const {
    return mapLanes([&word, mask](uint32_t lane) { return word.lane[lane ^ mask]; });
  }

  uint32_t nextChunk() const { return (*task_.takenChunks)++; }

  Tile fetch(TileWalk& walk) {
    uint8_t* stage = shared_.data() + plan_.stages + fetched_ % kStages * kGroups * groupBytes(kDimension);
    const Tile tile = walk.template next<kGroups>([&](uint32_t n, uint32_t group) {
      const uint8_t* from = task_.tokens + size_t{group} * groupBytes(kDimension);
      if (kIsHopper) {
        std::memcpy(stage + n * groupBytes(kDimension), from, groupBytes(kDimension));
        return;
      }
      for (uint32_t lane = 0; lane < 32; ++lane) {
        for (uint32_t k = 0; k < kSteps * 2; ++k) {
          std::memcpy(&registers_[n][k][lane], from + operandBOffset(lane, k / 2, k % 2), 4);
        }
      }
    });
    if (tile.groupCount > 0) ++fetched_;
    return tile;
  }
  void await() { stage_ = awaited_++ % kStages; }

  void multiply(uint32_t queryTile, Word (&dots)[4 * kGroups]) const {
    int32_t products[kLanes / 2][kGroups * kGroupRows] = {};
    for (uint32_t step = 0; step < kSteps; ++step) {
      int8_t a[kLanes / 2][kStepBytes], b[kGroups * kGroupRows][kStepBytes];
      if (kIsHopper) {
        readOperand(queryTile * kShape.queryRows() * kDimension, step, kLanes / 2, a);
        readOperand(plan_.stages + stage_ * kGroups * groupBytes(kDimension), step, kGroups * kGroupRows, b);
      } else {
        readFragments(queryTile, step, a, b);
      }
      for (uint32_t row = 0; row < kLanes / 2; ++row) {
        for (uint32_t target = 0; target < kGroups * kGroupRows; ++target) {
          for (uint32_t k = 0; k < kStepBytes; ++k) products[row][target] += a[row][k] * b[target][k];
        }
      }
    }
    for (uint32_t index = 0; index < 4 * kGroups; ++index) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const Place place = fragmentD(lane, index);
        dots[index].lane[lane] = static_cast<uint32_t>(products[place.row][place.column]);
      }
    }
  }

  void keepClosest(uint32_t queryTile, const Word& word) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) put(closestAt(queryTile, lane), word.lane[lane]);
  }
  Word closest(uint32_t queryTile) const {
    return mapLanes([this, queryTile](uint32_t lane) { return get(closestAt(queryTile, lane)); });
  }
  void keepSum(uint32_t query, uint32_t value) { put(plan_.sums + query * 4, value); }
  uint32_t sum(uint32_t query) const { return get(plan_.sums + query * 4); }

  void joinWarps(Word (&words)[kGroups]) const {
    for (uint32_t i = 0; i < kGroups / 8; ++i) {
      const Word word = words[i];
      words[i] = mapLanes([&word](uint32_t lane) {
        uint32_t largest = kLeastPair;
        for (uint32_t from = lane % 32; from < kLanes; from += 32) largest = largerPair(largest, word.lane[from]);
        return largest;
      });
    }
  }
  uint32_t sumWarp(const Word& word) const {
    uint32_t sum = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) sum += word.lane[lane];
    return sum;
  }
  uint32_t sumRows(const Word& word, uint32_t quarter) const {
    uint32_t sum = 0;
    for (uint32_t lane = quarter; lane < kLanes; lane += 4) sum += word.lane[lane];
    return sum;
  }
  void store(int32_t* address, int32_t value) const { *address = value; }

 private:
  static constexpr uint32_t kSteps = kDimension / kStepBytes;

  uint32_t closestAt(uint32_t queryTile, uint32_t lane) const {
    return plan_.closest + (queryTile * kWarps * 8 + lane / 4) * 4;
  }
  void put(uint32_t offset, uint32_t word) { std::memcpy(&shared_.at(offset), &word, 4); }
  uint32_t get(uint32_t offset) const {
    uint32_t word;
    std::memcpy(&word, &shared_.at(offset), 4);
    return word;
  }

  /* Returns the operand that the tensor cores read through a descriptor, by the PTX manual. */
  template <uint32_t kRows>
  void readOperand(uint32_t address, uint32_t step, uint32_t rows, int8_t (&operand)[kRows][kStepBytes]) const {
    Descriptor descriptor = coreDescriptor(address, kDimension);
    for (uint32_t s = 0; s < step; ++s) descriptor = nextStep(descriptor);
    const auto field = [&descriptor](uint32_t bit) {
      return static_cast<uint32_t>(descriptor.bits >> bit & 0x3fff) << 4;
    };
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t k = 0; k < kStepBytes; ++k) {
        operand[row][k] = static_cast<int8_t>(
            shared_.at(field(0) + row / 8 * field(32) + k / 16 * field(16) + row % 8 * 16 + k % 16));
      }
    }
  }
  void readFragments(uint32_t queryTile, uint32_t step, int8_t (&a)[kLanes / 2][kStepBytes],
                     int8_t (&b)[kGroups * kGroupRows][kStepBytes]) const {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (uint32_t index = 0; index < 4; ++index) {
        const Place place = fragmentA(lane, index);
        std::memcpy(&a[place.row][place.column],
                    &shared_.at(operandAOffset(lane, queryTile, step, kDimension) + 4 * index), 4);
      }
      for (uint32_t n = 0; n < kGroups; ++n) {
        for (uint32_t index = 0; index < 2; ++index) {
          const Place place = fragmentB(lane, index);
          std::memcpy(&b[n * kGroupRows + place.row][place.column], &registers_[n][2 * step + index][lane], 4);
        }
      }
    }
  }

  const SweepTask& task_;
  const SharedPlan plan_;
  std::vector<uint8_t> shared_;
  uint32_t registers_[kGroups][kSteps * 2][32];
  uint32_t fetched_ = 0, awaited_ = 0, stage_ = 0;
};

/* Runs a launch of one team on the CPU. */
template <Variant kVariant, bool kPacks = true>
void emulateSweep(uint32_t dimension, const SweepTask& task) {
  const auto run = [&task](auto team) { sweep(team, task); };
  switch (dimension) {
    case 32: return run(EmulatedTeam<kVariant, 32, kPacks>(task));
    case 64: return run(EmulatedTeam<kVariant, 64, kPacks>(task));
    case 96: return run(EmulatedTeam<kVariant, 96, kPacks>(task));
    case 128: return run(EmulatedTeam<kVariant, 128, kPacks>(task));
    case 160: return run(EmulatedTeam<kVariant, 160, kPacks>(task));
    case 192: return run(EmulatedTeam<kVariant, 192, kPacks>(task));
    case 224: return run(EmulatedTeam<kVariant, 224, kPacks>(task));
    case 256: return run(EmulatedTeam<kVariant, 256, kPacks>(task));
  }
}

}  // namespace cuda
}  // namespace gloaming

#endif
