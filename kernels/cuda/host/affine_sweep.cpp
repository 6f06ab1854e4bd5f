#include "cuda/host/affine_sweep.h"

#include <algorithm>
#include <chrono>

namespace gloaming {
namespace cuda {
namespace {

/** Teams of a launch per multiprocessor: the kernels' registers allow no more. */
constexpr uint32_t kTeams = 16;

}  // namespace

/* Other searches use the GPU between two slices. */
AffineSweep::Answers AffineSweep::run(const std::vector<Listed>& list, const CopyLetters& copyLetters) {
  Answers answers;
  for (auto* values : {&answers.scores, &answers.queryToTarget, &answers.targetToQuery}) values->resize(list.size());
  if (list.empty()) return answers;
  std::vector<uint32_t> lengths;
  for (const Listed& listed : list) lengths.push_back(listed.length);
  const auto tokens = packAffineQuery(query_), letterScores = packLetterScores(parameters_, queryLetters_, query_);
  const QueryMemory query{scratch(tokens.size()), scratch(letterScores.size())};
  for (const AffineSlice& slice : planAffine(lengths, query_.length, query_.dimension, gpu_.facts().multiprocessors)) {
    std::vector<AffineItem> items;
    std::vector<uint8_t> letters(copyLetters ? slice.columns + kLetterPadding : 0);
    uint32_t column = 0;
    for (size_t place = slice.firstItem; place < slice.endItem; column += lengths[place++]) {
      items.push_back({list[place].target, column});
      // The letters of the next target overwrite the padding.
      if (copyLetters) copyLetters(place, letters.data() + column);
    }
    const std::lock_guard<FairMutex> lock(gpu_.mutex);
    if (isCancelled()) return answers;
    gpu_.enter();
    if (slice.firstItem == 0) {
      gpu_.copyIn(query.tokens, 0, tokens.data(), tokens.size());
      gpu_.copyIn(query.letterScores, 0, letterScores.data(), letterScores.size());
    }
    runSlice(slice, items, letters, query, answers);
    if (isCancelled()) return answers;
  }
  return answers;
}

void AffineSweep::runSlice(const AffineSlice& slice, const std::vector<AffineItem>& items,
                           const std::vector<uint8_t>& letters, const QueryMemory& query, Answers& answers) {
  const uint32_t strips = stripsOf(query_.length, query_.dimension);
  const size_t count = items.size(), answerBytes = count * sizeof(int32_t);
  const GpuMemory list = scratch(count * sizeof(AffineItem)), text = scratch(letters.size()), taken = scratch(4);
  const GpuMemory edges = scratch(strips > 1 ? slice.columns * sizeof(Edge) : 0), found = scratch(3 * answerBytes);
  gpu_.copyIn(list, 0, items.data(), count * sizeof(AffineItem));
  gpu_.copyIn(text, 0, letters.data(), letters.size());
  gpu_.fill(found, 0, 3 * count);
  AffineLaunch task{};
  task.tokens = part_.tokens.as<const uint8_t>();
  task.firstGroups = part_.firstGroups.as<const uint32_t>();
  task.lengths = part_.lengths.as<const uint32_t>();
  task.items = list.as<const AffineItem>();
  task.itemCount = static_cast<uint32_t>(count);
  task.takenItems = taken.as<uint32_t>();
  task.query = query.tokens.as<const uint8_t>();
  task.letterScores = query.letterScores.as<const uint32_t>();
  task.queryLength = query_.length;
  task.multiplier = parameters_.multiplier;
  task.offset = parameters_.offset;
  task.gapOpen = parameters_.gapOpen;
  task.gapExtend = parameters_.gapExtend;
  task.letters = letters.empty() ? nullptr : text.as<const uint8_t>();
  task.edges = edges.as<Edge>();
  task.scores = found.as<int32_t>();
  task.queryToTarget = task.scores + count;
  task.targetToQuery = task.queryToTarget + count;
  for (uint32_t strip = 0; strip < strips; strip += slice.panelStrips) {
    task.firstStrip = strip;
    task.endStrip = std::min(strip + slice.panelStrips, strips);
    gpu_.fill(taken, 0, 1);
    launch(task);
    if (isCancelled()) return;
  }
  gpu_.copyOut(answers.scores.data() + slice.firstItem, found.address(), answerBytes);
  gpu_.copyOut(answers.queryToTarget.data() + slice.firstItem, found.address() + answerBytes, answerBytes);
  gpu_.copyOut(answers.targetToQuery.data() + slice.firstItem, found.address() + 2 * answerBytes, answerBytes);
  gpu_.wait();
}

void AffineSweep::launch(AffineLaunch& task) {
  const uint32_t blocks = std::min(task.itemCount, gpu_.facts().multiprocessors * kTeams);
  const auto start = std::chrono::steady_clock::now();
  gpu_.launch("affine_" + std::to_string(query_.dimension), blocks, kWarpLanes, kAffineShared, {&task});
  gpu_.wait();
  sweepSeconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace cuda
}  // namespace gloaming
