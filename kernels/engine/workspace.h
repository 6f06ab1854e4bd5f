/* Memory of one worker thread, reused between calls. Deliberately not inline: files compiled for different instruction
 * sets include this header, and the linker must not choose one set's version for all. */
#ifndef GLOAMING_WORKSPACE_H
#define GLOAMING_WORKSPACE_H

#include <cstddef>

namespace gloaming {

class Workspace {
 public:
  enum Slot {
    kBoundaries,
    kCheckpoints,
    kFlags,
    kRows,
    kRuns,
    kClosest,
    kPrepared,
    kLetters,
    kQueues,
    kPart,
    kHalves,
    kStretches,
    kEncoder,
    kSlotCount
  };

  Workspace() = default;
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /* At least `bytes` bytes, 64-byte aligned, contents undefined; valid until the slot is reserved again.
   * Errors  std::bad_alloc */
  void* reserve(Slot slot, size_t bytes);
  /* Returns the slot's memory since it was last reserved. */
  void* peek(Slot slot) const;
  /* Frees slots larger than keepBytes, so that one giant protein does not hold memory for ever. */
  void shrink(size_t keepBytes);

 private:
  struct Block {
    void* memory = nullptr;
    size_t bytes = 0;
  };
  Block blocks_[kSlotCount];
};

}  // namespace gloaming

#endif
