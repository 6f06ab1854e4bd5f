#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/search.h"

namespace gloaming {
namespace {

void checkParameters(const AffineParameters& p) {
  if (p.multiplier < 1 || p.multiplier > INT16_MAX) throw ShapeError("the multiplier must be 1 to 32,767");
  // Below −16,384 a substitution score could pass int16, and a sum of them int32.
  const int32_t margin = p.letterScores == nullptr ? 0 : 128;
  if (p.offset < -16'384 + margin || p.offset > INT16_MAX - margin) {
    throw ShapeError("the offset must be -16,384 to 32,767, and 128 within that if letters score");
  }
  if (p.gapExtend < 0 || p.gapExtend > p.gapOpen || p.gapOpen > 4'095) {
    throw ShapeError("the gap costs must be 0 <= gapExtend <= gapOpen <= 4,095");
  }
}

}  // namespace

AffineSearch::AffineSearch(const Kernels& kernels, std::shared_ptr<const Store> store, OwnedQuery query,
                           std::vector<uint32_t> targets, AffineParameters parameters, OwnedLetters letters,
                           bool aligns, Done done)
    : Search(kernels, std::move(store), std::move(done)), query_(std::move(query)), targets_(std::move(targets)),
      parameters_(parameters), letters_(std::move(letters)), aligns_(aligns) {
  parameters_.letterScores = hasLetters() ? letters_.scores.data() : nullptr;
}

/* One chunk per target, the longest first, so that none of them is begun last. */
uint64_t AffineSearch::prepare() {
  checkParameters(parameters_);
  store_->checkFile();
  checkTargets(targets_, false);
  placeLetters();
  query_.pack(kernels_.affinePackedBytes, [this](const Tokens& tokens, void* packed) {
    kernels_.affinePack({tokens, letters_.query.data(), parameters_}, packed);
  });
  if (aligns_) alignments.resize(targets_.size());
  else scores.resize(targets_.size());
  order_.resize(targets_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [this](uint32_t a, uint32_t b) {
    return store_->length(targets_[a]) > store_->length(targets_[b]);
  });
  return order_.size();
}

/* Checks the letters and turns the query's text into them. */
void AffineSearch::placeLetters() {
  const uint32_t queryLength = query_.view().tokens.length;
  if (!hasLetters()) {
    letters_.query.assign(queryLength, 0);
    return;
  }
  if (letters_.scores.size() != kLetterCount * kLetterCount) throw ShapeError("the letters must have 32 × 32 scores");
  if (std::find(letters_.scores.begin(), letters_.scores.end(), INT8_MIN) != letters_.scores.end()) {
    throw ShapeError("a score of letters must be -127 to 127");
  }
  if (letters_.query.size() != queryLength) throw ShapeError("the query must have a letter for each row");
  for (uint8_t& letter : letters_.query) letter %= kLetterCount;
  letterStarts_.assign(1, 0);
  for (const uint32_t target : targets_) letterStarts_.push_back(letterStarts_.back() + store_->length(target));
  if (letters_.targets.size() != letterStarts_.back()) {
    throw ShapeError("the targets must have a letter for each row");
  }
}

/* The letters of an item's target, padded. */
const uint8_t* AffineSearch::lettersOf(uint32_t item, Workspace& workspace) const {
  const uint32_t length = store_->length(targets_[item]);
  auto* letters = static_cast<uint8_t*>(workspace.reserve(Workspace::kLetters, length + kLetterPadding));
  const uint32_t known = hasLetters() ? length : 0;
  const uint8_t* text = letters_.targets.data() + (hasLetters() ? letterStarts_[item] : 0);
  for (uint32_t j = 0; j < known; ++j) letters[j] = text[j] % kLetterCount;
  std::memset(letters + known, 0, length - known + kLetterPadding);
  return letters;
}

void AffineSearch::run(uint64_t chunk, Workspace& workspace) {
  const uint32_t item = order_[chunk], target = targets_[item];
  const PackedQuery query = query_.view();
  const Letters letters{letters_.query.data(), lettersOf(item, workspace)};
  const AffineTask task{query,       store_->rows(target), store_->length(target), letters,
                        parameters_, workspace,            cancelled_};
  if (!aligns_) {
    scores[item] = kernels_.affineScore(task);
    return;
  }
  const AffineAlignment alignment = kernels_.affineAlign(task);
  alignments[item] = {alignment, std::vector<uint32_t>(alignment.runs, alignment.runs + alignment.runCount)};
}

}  // namespace gloaming
