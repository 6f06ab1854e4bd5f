/* A warp of the MaxSim kernels in plain C++: lanes are arrays, and shared memory is a vector. The matrix instructions
 * follow their definition in the PTX manual, with the fragment maps and descriptors of cuda/layout.h. sweep.h runs on
 * it unchanged. */
#ifndef GLOAMING_TEST_EMULATED_TEAM_H
#define GLOAMING_TEST_EMULATED_TEAM_H

#include <cstring>
#include <vector>

#include "cuda/sweep.h"

namespace gloaming {
namespace cuda {

template <Variant kVariant, uint32_t kDimension>
class EmulatedTeam {
 public:
  static constexpr Shape kShape = shapeOf(kVariant, kDimension);
  static constexpr uint32_t kLanes = 32;
  static constexpr bool kPacks = kVariant == Variant::kHopper;
  struct Word {
    uint32_t lane[kLanes];
  };

  explicit EmulatedTeam(const SweepTask& task)
      : task_(task), shared_(panelBytes(kVariant, kDimension, task.queryTiles)) {
    std::memcpy(shared_.data(), task.query, shared_.size());
    std::memset(rows_, 0x5a, sizeof rows_);
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
  Word shuffleXor(const Word& word, uint32_t mask) const {
    return mapLanes([&word, mask](uint32_t lane) { return word.lane[lane ^ mask]; });
  }
  uint32_t sumWarp(const Word& word) const {
    uint32_t sum = 0;
    for (const uint32_t own : word.lane) sum += own;
    return sum;
  }
  void store(int32_t* address, int32_t value) const { *address = value; }

  uint32_t nextChunk() const { return (*task_.takenChunks)++; }
  /* A warp of four may multiply a few times more than it has slabs. */
  bool isAnyBusy(bool isBusy) {
    if (isBusy) return true;
    return kVariant == Variant::kHopper && idleTurns_++ < 2;
  }

  void prefetch(const Slab&) const {}
  void load(const Slab& slab) {
    if (slab.rows == 0) return;
    for (uint32_t n = 0; n < 2 * kShape.slabs; ++n) {
      const uint32_t group = slab.group + std::min(n, slab.groupCount() - 1);
      for (uint32_t k = n % 2; k < 4 * kSteps; k += 2) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          std::memcpy(&rows_[n / 2][k][lane],
                      task_.tokens + size_t{group} * groupBytes(kDimension) + operandAOffset(lane, k / 4, k % 4), 4);
        }
      }
    }
  }

  void start(uint32_t tile, Word (&dots)[kShape.slabs][4 * kShape.tileGroups]) const {
    for (uint32_t slab = 0; slab < kShape.slabs; ++slab) multiply(tile, slab, dots[slab]);
  }
  template <uint32_t>
  void finish(Word (&)[kShape.slabs][4 * kShape.tileGroups]) const {}

 private:
  static constexpr uint32_t kSteps = kDimension / kStepBytes, kTileRows = kShape.tileRows();

  void multiply(uint32_t tile, uint32_t slab, Word (&dots)[4 * kShape.tileGroups]) const {
    int32_t products[16][kTileRows] = {};
    for (uint32_t step = 0; step < kSteps; ++step) {
      int8_t a[16][kStepBytes], b[kTileRows][kStepBytes];
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        for (uint32_t index = 0; index < 4; ++index) {
          const Place place = fragmentA(lane, index);
          std::memcpy(&a[place.row][place.column], &rows_[slab][4 * step + index][lane], 4);
        }
      }
      if (kVariant == Variant::kHopper) readOperand(tile, step, b);
      else readFragments(tile, step, b);
      for (uint32_t row = 0; row < 16; ++row) {
        for (uint32_t column = 0; column < kTileRows; ++column) {
          for (uint32_t k = 0; k < kStepBytes; ++k) products[row][column] += a[row][k] * b[column][k];
        }
      }
    }
    for (uint32_t index = 0; index < 4 * kShape.tileGroups; ++index) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const Place place = fragmentD(lane, index);
        dots[index].lane[lane] = static_cast<uint32_t>(products[place.row][place.column]);
      }
    }
  }

  /* Returns the operand that the tensor cores read through a descriptor, by the PTX manual. */
  void readOperand(uint32_t tile, uint32_t step, int8_t (&operand)[kTileRows][kStepBytes]) const {
    Descriptor descriptor = coreDescriptor(tile * kTileRows * kDimension, kDimension);
    for (uint32_t s = 0; s < step; ++s) descriptor = nextStep(descriptor);
    const auto field = [&descriptor](uint32_t bit) {
      return static_cast<uint32_t>(descriptor.bits >> bit & 0x3fff) << 4;
    };
    for (uint32_t row = 0; row < kTileRows; ++row) {
      for (uint32_t k = 0; k < kStepBytes; ++k) {
        operand[row][k] = static_cast<int8_t>(
            shared_.at(field(0) + row / 8 * field(32) + k / 16 * field(16) + row % 8 * 16 + k % 16));
      }
    }
  }
  void readFragments(uint32_t tile, uint32_t step, int8_t (&operand)[kTileRows][kStepBytes]) const {
    for (uint32_t n = 0; n < kShape.tileGroups; ++n) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        for (uint32_t index = 0; index < 2; ++index) {
          const Place place = fragmentB(lane, index);
          const size_t offset = operandBOffset(lane, tile * kShape.tileGroups + n, step, kDimension) + 4 * index;
          std::memcpy(&operand[n * kGroupRows + place.row][place.column], &shared_.at(offset), 4);
        }
      }
    }
  }

  const SweepTask& task_;
  std::vector<uint8_t> shared_;
  uint32_t rows_[kShape.slabs][4 * kSteps][kLanes];
  int idleTurns_ = 0;
};

/* Runs a launch of one warp on the CPU. */
template <Variant kVariant>
void emulateSweep(uint32_t dimension, const SweepTask& task) {
  const auto run = [&task](auto team) { sweep(team, task); };
  switch (dimension) {
    case 32: return run(EmulatedTeam<kVariant, 32>(task));
    case 64: return run(EmulatedTeam<kVariant, 64>(task));
    case 96: return run(EmulatedTeam<kVariant, 96>(task));
    case 128: return run(EmulatedTeam<kVariant, 128>(task));
    case 160: return run(EmulatedTeam<kVariant, 160>(task));
    case 192: return run(EmulatedTeam<kVariant, 192>(task));
    case 224: return run(EmulatedTeam<kVariant, 224>(task));
    case 256: return run(EmulatedTeam<kVariant, 256>(task));
  }
}

}  // namespace cuda
}  // namespace gloaming

#endif
