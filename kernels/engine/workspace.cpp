#include "engine/workspace.h"

#include <cstdlib>
#include <new>

namespace gloaming {

Workspace::~Workspace() { shrink(0); }

void* Workspace::reserve(Slot slot, size_t bytes) {
  Block& block = blocks_[slot];
  if (bytes > block.bytes) {
    std::free(block.memory);
    block = {};
    const size_t rounded = (bytes + 4095) / 4096 * 4096;
    block.memory = std::aligned_alloc(64, rounded);
    if (block.memory == nullptr) throw std::bad_alloc();
    block.bytes = rounded;
  }
  return block.memory;
}

void* Workspace::peek(Slot slot) const { return blocks_[slot].memory; }

void Workspace::shrink(size_t keepBytes) {
  for (Block& block : blocks_) {
    if (block.bytes <= keepBytes) continue;
    std::free(block.memory);
    block = {};
  }
}

}  // namespace gloaming
