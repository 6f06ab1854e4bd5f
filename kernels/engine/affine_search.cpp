#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/alignments.h"
#include "engine/search.h"
#include "reference/reference.h"

namespace gloaming {
namespace {

/** Batches for each thread, if there are enough targets; threads that end first take the work of others. */
constexpr size_t kBatchesOfThread = 2;
/** Targets per lane of a batch, beyond which there are more batches than that: other searches wait for one to end. */
constexpr size_t kTargetsOfLane = 16;

void checkParameters(const AffineParameters& p) {
  if (p.multiplier < 1 || p.multiplier > INT16_MAX) throw ShapeError("the multiplier must be 1 to 32,767");
  // Below −16,384 a substitution score could pass int16, and a sum of them int32.
  const int32_t margin = p.letterScores == nullptr ? 0 : 128;
  if (p.offset < -16'384 + margin || p.offset > INT16_MAX - margin) {
    throw ShapeError("the offset must be -16,384 to 32,767, and 128 within that if letters score");
  }
  if (p.profileWeight < 0 || p.profileWeight > INT16_MAX) throw ShapeError("the profiles' weight must be 0 to 32,767");
  if (p.profileWeight > 0 && p.offset < -8'192) {
    throw ShapeError("the offset must be -8,192 at least if profiles score");
  }
  if (p.gapExtend < 0 || p.gapExtend > p.gapOpen || p.gapOpen > 4'095) {
    throw ShapeError("the gap costs must be 0 <= gapExtend <= gapOpen <= 4,095");
  }
}

/* Checks the scores of letters and turns the query's text into letters. */
void checkLetters(OwnedLetters& letters, uint32_t queryLength) {
  if (letters.scores.size() != kLetterCount * kLetterCount) throw ShapeError("the letters must have 32 × 32 scores");
  if (std::find(letters.scores.begin(), letters.scores.end(), INT8_MIN) != letters.scores.end()) {
    throw ShapeError("a score of letters must be -127 to 127");
  }
  if (letters.query.size() != queryLength) throw ShapeError("the query must have a letter for each row");
  for (uint8_t& letter : letters.query) letter %= kLetterCount;
}

}  // namespace

int32_t checkedSelfScore(const OwnedQuery& query, AffineParameters parameters, OwnedLetters letters) {
  const bool hasLetters = !letters.scores.empty();
  parameters.letterScores = hasLetters ? letters.scores.data() : nullptr;
  checkParameters(parameters);
  if (hasLetters) checkLetters(letters, query.length());
  if (parameters.profileWeight > 0 && query.profile() == nullptr) {
    throw ShapeError("the query must have a profile where profiles score");
  }
  return selfScore({query.view().tokens, letters.query.data(), query.profile(), parameters});
}

AffineSearch::AffineSearch(const Kernels& kernels, std::shared_ptr<const Store> store, OwnedQuery query,
                           std::vector<uint32_t> targets, AffineParameters parameters, OwnedLetters letters,
                           AffineWork work, Done done)
    : Search(kernels, std::move(store), std::move(done)), work(work), query_(std::move(query)),
      targets_(std::move(targets)), parameters_(parameters), letters_(std::move(letters)) {
  parameters_.letterScores = hasLetters() ? letters_.scores.data() : nullptr;
}

AffineSearch::AffineSearch(const Kernels& kernels, std::shared_ptr<const Store> store, OwnedQuery query,
                           std::vector<uint32_t> targets, AffineParameters parameters, OwnedLetters letters,
                           ListBounds bounds, Done done)
    : Search(kernels, std::move(store), std::move(done)), work(AffineWork::kAlignmentLists), query_(std::move(query)),
      targets_(std::move(targets)), parameters_(parameters), letters_(std::move(letters)), bounds_(std::move(bounds)) {
  parameters_.letterScores = hasLetters() ? letters_.scores.data() : nullptr;
}

uint64_t AffineSearch::prepare() {
  placeItems();
  query_.pack(kernels_.affinePackedBytes, [this](const Tokens& tokens, void* packed) {
    kernels_.affinePack({tokens, letters_.query.data(), hasProfiles() ? query_.profile() : nullptr, parameters_},
                        packed);
  });
  if (work == AffineWork::kMeasures) {
    const Tokens tokens = query_.view().tokens;
    compared_.emplace_back(tokens.values, size_t{tokens.length} * tokens.dimension, tokens.length, tokens.dimension);
    compared_[0].pack(kernels_.maxsimPackedBytes, kernels_.maxsimPack);
  }
  cutIntoChunks();
  return cuts_.size() - 1;
}

/* Orders the longest targets first, so that none of them starts last. */
void AffineSearch::placeItems() {
  checkParameters(parameters_);
  store_->checkFiles();
  checkTargets(targets_, false);
  placeLetters();
  if (hasProfiles() && (query_.profile() == nullptr || !store_->hasProfiles())) {
    throw ShapeError("the query and the targets must have profiles where these score");
  }
  if (work == AffineWork::kAlignmentLists) checkBounds();
  if (work == AffineWork::kAlignmentLists) lists.resize(targets_.size());
  else if (work == AffineWork::kAlignments) alignments.resize(targets_.size());
  else scores.resize(targets_.size());
  if (work == AffineWork::kMeasures) {
    sums.queryToTarget.resize(targets_.size());
    sums.targetToQuery.resize(targets_.size());
  }
  order_.resize(targets_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [this](uint32_t a, uint32_t b) { return lengthOf(a) > lengthOf(b); });
}

/* Makes a chunk of each of the longest targets, then batches of mixed lengths. */
void AffineSearch::cutIntoChunks() {
  const size_t count = order_.size(), lanes = kernels_.affineBatch;
  const bool isProfiled = work == AffineWork::kProfileScores;
  // Scores of profiles have batches only.
  const size_t alone = lanes == 1 || isAligned() ? count : isProfiled ? 0 : countAlone(lanes);
  for (size_t place = 0; place < alone; ++place) cuts_.push_back(place);
  // Groups of `lanes` targets of similar length go to the batches in turn, so that the lanes of a batch end together.
  const std::vector<uint32_t> sorted(order_.begin() + static_cast<ptrdiff_t>(alone), order_.end());
  const size_t batches = countBatches(sorted, lanes);
  size_t place = alone;
  for (size_t first = 0; first < std::min(batches * lanes, sorted.size()); first += lanes) {
    cuts_.push_back(place);
    for (size_t k = first; k < sorted.size(); k += batches * lanes) {
      for (size_t l = k; l < std::min(k + lanes, sorted.size()); ++l) order_[place++] = sorted[l];
    }
  }
  cuts_.push_back(count);
}

/* Number of the longest targets that are computed outside of batches, so that the least processor time is expected. The
 * lanes of a batch wait for its longest target. Times are in rows of a target in a batch. */
size_t AffineSearch::countAlone(size_t lanes) const {
  const auto& [ofScores, ofMeasures] = kernels_.affineAlone;
  const double timeAlone = work == AffineWork::kMeasures ? ofMeasures : ofScores;
  uint64_t before = 0, left = 0;
  for (const uint32_t item : order_) left += lengthOf(item);
  double least = timeAlone * static_cast<double>(left);
  size_t best = order_.size();
  for (size_t alone = 0; alone < order_.size(); ++alone) {
    const uint64_t length = lengthOf(order_[alone]), inBatches = std::max(lanes * length, left);
    const double time = timeAlone * static_cast<double>(before) + static_cast<double>(inBatches);
    if (time < least) {
      least = time;
      best = alone;
    }
    before += length;
    left -= length;
  }
  return best;
}

/* Number of batches of these items, the longest of which comes first. More than have full lanes would not end earlier,
 * because each lasts as long as its longest target. */
size_t AffineSearch::countBatches(const std::vector<uint32_t>& items, size_t lanes) const {
  if (items.empty()) return 0;
  uint64_t rows = 0;
  for (const uint32_t item : items) rows += lengthOf(item);
  const size_t full = rows / (lanes * std::max<uint64_t>(1, lengthOf(items.front())));
  const size_t wanted = std::max<size_t>(kBatchesOfThread * threadLimit(), items.size() / (lanes * kTargetsOfLane));
  return std::clamp<size_t>(full, 1, wanted);
}

void AffineSearch::checkBounds() const {
  const auto& [leastScores, maxCount] = bounds_;
  if (leastScores.size() != targets_.size()) throw ShapeError("each target must have a least score");
  if (std::any_of(leastScores.begin(), leastScores.end(), [](int32_t score) { return score < 1; })) {
    throw ShapeError("a least score must be 1 or more");
  }
  if (maxCount < 1 || maxCount > kMaxAlignments) throw ShapeError("a list must have 1 to 100 alignments");
}

/* Checks the letters and turns the query's text into them. */
void AffineSearch::placeLetters() {
  const uint32_t queryLength = query_.view().tokens.length;
  if (!hasLetters()) {
    letters_.query.assign(queryLength, 0);
    return;
  }
  checkLetters(letters_, queryLength);
  letterStarts_.assign(1, 0);
  for (const uint32_t target : targets_) letterStarts_.push_back(letterStarts_.back() + store_->length(target));
  if (letters_.targets.size() != letterStarts_.back()) {
    throw ShapeError("the targets must have a letter for each row");
  }
}

void AffineSearch::copyLetters(uint32_t item, uint8_t* to) const {
  const uint32_t length = lengthOf(item), known = hasLetters() ? length : 0;
  const uint8_t* text = letters_.targets.data() + (hasLetters() ? letterStarts_[item] : 0);
  for (uint32_t j = 0; j < known; ++j) to[j] = text[j] % kLetterCount;
  std::memset(to + known, 0, length - known + kLetterPadding);
}

void AffineSearch::run(uint64_t chunk, Workspace& workspace) {
  const uint32_t *items = order_.data() + cuts_[chunk], *end = order_.data() + cuts_[chunk + 1];
  const PackedQuery query = query_.view();
  const auto count = static_cast<size_t>(end - items);
  size_t letterBytes = 0;
  for (const uint32_t* item = items; item < end; ++item) letterBytes += lengthOf(*item) + kLetterPadding;
  auto* letters = static_cast<uint8_t*>(workspace.reserve(Workspace::kLetters, letterBytes));
  std::vector<AffineTask> tasks;
  tasks.reserve(count);
  for (const uint32_t* item = items; item < end; letters += lengthOf(*item++) + kLetterPadding) {
    copyLetters(*item, letters);
    const uint32_t target = targets_[*item];
    const Profiles profiles = hasProfiles() ? Profiles{query_.profile(), store_->profile(target)} : Profiles{};
    tasks.push_back({query,
                     store_->rows(target),
                     store_->length(target),
                     {letters_.query.data(), letters},
                     profiles,
                     parameters_,
                     workspace,
                     cancelled_});
  }
  if (work == AffineWork::kAlignmentLists) {
    lists[*items] = affineAlignAll(kernels_, tasks[0], bounds_.leastScores[*items], bounds_.maxCount);
  } else if (work == AffineWork::kAlignments) {
    const AffineAlignment alignment = kernels_.affineAlign(tasks[0]);
    alignments[*items] = {alignment, std::vector<uint32_t>(alignment.runs, alignment.runs + alignment.runCount)};
  } else if (work == AffineWork::kProfileScores) {
    std::vector<int32_t> found(count);
    kernels_.profileScores(tasks.data(), static_cast<uint32_t>(count), found.data());
    for (size_t k = 0; k < count; ++k) scores[items[k]] = found[k];
  } else if (count == 1) {
    scores[*items] = kernels_.affineScore(tasks[0]);
    if (work == AffineWork::kMeasures) compareAlone(*items, workspace);
  } else {
    scoreBatch(tasks, items, workspace);
  }
}

void AffineSearch::scoreBatch(const std::vector<AffineTask>& tasks, const uint32_t* items, Workspace& workspace) {
  const auto count = static_cast<uint32_t>(tasks.size());
  std::vector<int32_t> found(count);
  const bool measures = work == AffineWork::kMeasures && kernels_.affineMeasures != nullptr;
  std::vector<PairSums> compared(measures ? count : 0);
  if (measures) kernels_.affineMeasures(tasks.data(), count, found.data(), compared.data());
  else kernels_.affineScores(tasks.data(), count, found.data());
  for (size_t k = 0; k < count; ++k) {
    scores[items[k]] = found[k];
    if (measures) {
      sums.queryToTarget[items[k]] = compared[k].queryToTarget;
      sums.targetToQuery[items[k]] = compared[k].targetToQuery;
    } else if (work == AffineWork::kMeasures) {
      compareAlone(items[k], workspace);
    }
  }
}

/* Computes MaxSim of a target outside of batches. */
void AffineSearch::compareAlone(uint32_t item, Workspace& workspace) {
  const uint32_t queryLength = compared_[0].length(), dimension = store_->dimension();
  const size_t count = roundUp(queryLength, kTokenRound);
  auto* closest = static_cast<int32_t*>(workspace.reserve(Workspace::kClosest, count * sizeof(int32_t)));
  std::fill_n(closest, count, INT32_MIN);
  compareRows(kernels_, {compared_[0].view()}, {store_->rows(targets_[item]), lengthOf(item), dimension},
              rowsPerCall(queryLength, dimension), closest, &sums.targetToQuery[item], workspace, cancelled_);
  // After cancellation some maxima are still INT32_MIN, and their sum would overflow.
  if (isCancelled()) return;
  sums.queryToTarget[item] = std::accumulate(closest, closest + queryLength, 0);
}

}  // namespace gloaming
