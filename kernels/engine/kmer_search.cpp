#include "engine/kmer_search.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace gloaming {
namespace {

constexpr uint32_t kAminoAcids = kNoAminoAcid;
constexpr char kOrder[] = "ARNDCQEGHILKMFPSTWYV";
/** Score of a letter that is no amino acid, with any other. */
constexpr int8_t kEnd = -64;
/** BLOSUM62 (Henikoff & Henikoff 1992), half bits. */
constexpr int8_t kBlosum62[kAminoAcids][kAminoAcids] = {
    {4, -1, -2, -2, 0, -1, -1, 0, -2, -1, -1, -1, -1, -2, -1, 1, 0, -3, -2, 0},
    {-1, 5, 0, -2, -3, 1, 0, -2, 0, -3, -2, 2, -1, -3, -2, -1, -1, -3, -2, -3},
    {-2, 0, 6, 1, -3, 0, 0, 0, 1, -3, -3, 0, -2, -3, -2, 1, 0, -4, -2, -3},
    {-2, -2, 1, 6, -3, 0, 2, -1, -1, -3, -4, -1, -3, -3, -1, 0, -1, -4, -3, -3},
    {0, -3, -3, -3, 9, -3, -4, -3, -3, -1, -1, -3, -1, -2, -3, -1, -1, -2, -2, -1},
    {-1, 1, 0, 0, -3, 5, 2, -2, 0, -3, -2, 1, 0, -3, -1, 0, -1, -2, -1, -2},
    {-1, 0, 0, 2, -4, 2, 5, -2, 0, -3, -3, 1, -2, -3, -1, 0, -1, -3, -2, -2},
    {0, -2, 0, -1, -3, -2, -2, 6, -2, -4, -4, -2, -3, -3, -2, 0, -2, -2, -3, -3},
    {-2, 0, 1, -1, -3, 0, 0, -2, 8, -3, -3, -1, -2, -1, -2, -1, -2, -2, 2, -3},
    {-1, -3, -3, -3, -1, -3, -3, -4, -3, 4, 2, -3, 1, 0, -3, -2, -1, -3, -1, 3},
    {-1, -2, -3, -4, -1, -2, -3, -4, -3, 2, 4, -2, 2, 0, -3, -2, -1, -2, -1, 1},
    {-1, 2, 0, -1, -3, 1, 1, -2, -1, -3, -2, 5, -1, -3, -1, 0, -1, -3, -2, -2},
    {-1, -1, -2, -3, -1, 0, -2, -3, -2, 1, 2, -1, 5, 0, -2, -1, -1, -1, -1, 1},
    {-2, -3, -3, -3, -2, -3, -3, -3, -1, 0, 0, -3, 0, 6, -4, -2, -2, 1, 3, -1},
    {-1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4, 7, -1, -1, -4, -3, -2},
    {1, -1, 1, 0, -1, 0, 0, 0, -1, -2, -2, 0, -1, -2, -1, 4, 1, -3, -2, -2},
    {0, -1, 0, -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1, 1, 5, -2, -2, 0},
    {-3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1, 1, -4, -3, -2, 11, 2, -3},
    {-2, -2, -2, -3, -2, -1, -2, -3, 2, -1, -1, -2, -1, 3, -3, -2, -2, 2, 7, -1},
    {0, -3, -3, -3, -1, -2, -2, -3, -3, 3, 1, -2, 1, -1, -2, -2, 0, -3, -1, 4},
};
/** Targets of a chunk, some 50 µs. With stretches of one chunk, a number of 32 bits names each row. */
constexpr uint32_t kChunkTargets = 64;
constexpr uint32_t kBlocks = (kKmerCount + 63) / 64;

/** A k-mer, and a place of a query that is similar to it. */
struct Similar {
  uint32_t kmer, place;
};

std::array<uint8_t, 256> lettersOfCharacters() {
  std::array<uint8_t, 256> letters;
  letters.fill(kNoAminoAcid);
  for (uint8_t letter = 0; letter < kAminoAcids; ++letter) letters[static_cast<uint8_t>(kOrder[letter])] = letter;
  return letters;
}

void appendLetters(const uint8_t* text, size_t count, std::vector<uint8_t>& letters) {
  static const std::array<uint8_t, 256> letterOf = lettersOfCharacters();
  for (size_t at = 0; at < count; ++at) letters.push_back(letterOf[text[at]]);
}

/** Scores as kernels read them, and the amino acids by descending score with each. */
struct Blosum {
  int8_t scores[kKmerLetters * kKmerWidth];
  uint8_t nearest[kAminoAcids][kAminoAcids];

  Blosum() {
    std::fill_n(scores, kKmerLetters * kKmerWidth, kEnd);
    for (uint32_t a = 0; a < kAminoAcids; ++a) {
      std::copy_n(kBlosum62[a], kAminoAcids, scores + a * kKmerWidth);
      for (uint8_t b = 0; b < kAminoAcids; ++b) nearest[a][b] = b;
      std::stable_sort(nearest[a], nearest[a] + kAminoAcids,
                       [a](uint8_t b, uint8_t c) { return kBlosum62[a][b] > kBlosum62[a][c]; });
    }
  }
};

const Blosum& blosum() {
  static const Blosum shared;
  return shared;
}

/* Appends the k-mers that are similar to that of one place. */
class SimilarKmers {
 public:
  SimilarKmers(const uint8_t* letters, uint32_t place, std::vector<Similar>& all)
      : letters_(letters + place), place_(place), all_(all) {
    for (uint32_t k = kKmerLength; k-- > 0;) most_[k] = most_[k + 1] + kBlosum62[letters_[k]][letters_[k]];
    append(0, 0, 0);
  }

 private:
  void append(uint32_t k, uint32_t kmer, int32_t score) {
    if (k == kKmerLength) {
      all_.push_back({kmer, place_});
      return;
    }
    for (const uint8_t letter : blosum().nearest[letters_[k]]) {
      const int32_t with = score + kBlosum62[letters_[k]][letter];
      if (with + most_[k + 1] < kKmerLeast) return;
      append(k + 1, kmer * kKmerLetters + letter, with);
    }
  }

  const uint8_t* const letters_;
  const uint32_t place_;
  std::vector<Similar>& all_;
  /** Best score of the letters from each on: with themselves. */
  int32_t most_[kKmerLength + 1] = {};
};

}  // namespace

TargetLetters::TargetLetters(std::vector<uint32_t> starts, const uint8_t* text, size_t count)
    : starts_(std::move(starts)) {
  checkStarts(starts_, kDimensionStep);
  if (count != starts_.back()) throw ShapeError("there must be a character per residue");
  letters_.reserve(count + starts_.size());
  letters_.push_back(kNoAminoAcid);
  for (uint32_t target = 0; target < targetCount(); ++target) {
    appendLetters(text + starts_[target], length(target), letters_);
    letters_.push_back(kNoAminoAcid);
  }
}

KmerPlaces::KmerPlaces(const std::vector<std::vector<uint8_t>>& texts)
    : bits_(kBlocks), before_(kBlocks), letters_{kNoAminoAcid}, queries_{0} {
  if (texts.empty() || texts.size() > kCodedQueries) throw ShapeError("a table is of 1 to 32 queries");
  for (const std::vector<uint8_t>& text : texts) {
    if (text.empty() || text.size() > kMaxLength) throw ShapeError("a query must have 1 to 65,535 residues");
    appendLetters(text.data(), text.size(), letters_);
    letters_.push_back(kNoAminoAcid);
    queries_.resize(letters_.size(), static_cast<uint8_t>(&text - texts.data()));
  }
  std::vector<Similar> similar;
  for (uint32_t place = 0; place + kKmerLength <= letters_.size(); ++place) {
    const auto first = letters_.begin() + place;
    if (std::find(first, first + kKmerLength, kNoAminoAcid) == first + kKmerLength) {
      SimilarKmers(letters_.data(), place, similar);
    }
  }
  for (const auto& [kmer, place] : similar) bits_[kmer / 64] |= uint64_t{1} << kmer % 64;
  uint32_t count = 0;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    before_[block] = count;
    count += static_cast<uint32_t>(__builtin_popcountll(bits_[block]));
  }
  // Sorts the places by k-mer in two passes: it counts the places of each, then writes them from the last on.
  starts_.assign(count + 1, 0);
  for (Similar& one : similar) {
    const uint64_t below = bits_[one.kmer / 64] & ((uint64_t{1} << one.kmer % 64) - 1);
    one.kmer = before_[one.kmer / 64] + static_cast<uint32_t>(__builtin_popcountll(below));
    ++starts_[one.kmer];
  }
  uint32_t end = 0;
  for (uint32_t& start : starts_) start = end += start;
  places_.resize(similar.size());
  for (size_t at = similar.size(); at-- > 0;) places_[--starts_[similar[at].kmer]] = similar[at].place;
}

KmerTable KmerPlaces::view() const {
  return {bits_.data(),    before_.data(),  starts_.data(), places_.data(),
          letters_.data(), queries_.data(), blosum().scores};
}

KmerSearch::KmerSearch(const Kernels& kernels, std::shared_ptr<const TargetLetters> letters,
                       std::vector<std::vector<uint8_t>> texts, std::optional<std::vector<uint32_t>> eligible,
                       Done done)
    : Search(kernels, nullptr, std::move(done)), letters_(std::move(letters)), texts_(std::move(texts)),
      eligible_(std::move(eligible)) {}

uint64_t KmerSearch::prepare() {
  if (eligible_) checkTargets(*eligible_, true, letters_->targetCount());
  places_.emplace(texts_);
  scores.assign(texts_.size(), std::vector<uint32_t>(itemCount()));
  return (itemCount() + kChunkTargets - 1) / kChunkTargets;
}

void KmerSearch::run(uint64_t chunk, Workspace& workspace) {
  constexpr size_t bytes = kStretchCount * sizeof(Stretch);
  auto* stretches = static_cast<Stretch*>(workspace.reserve(Workspace::kStretches, bytes));
  std::memset(static_cast<void*>(stretches), 0, bytes);
  const KmerTable table = places_->view();
  const auto start = static_cast<uint32_t>(chunk * kChunkTargets);
  const uint32_t end = std::min(itemCount(), start + kChunkTargets);
  uint32_t first = 0;
  for (uint32_t item = start; item < end; ++item) {
    if (isCancelled()) return;
    const uint32_t target = eligible_ ? (*eligible_)[item] : item, length = letters_->length(target);
    uint32_t best[kCodedQueries];
    kernels_.kmerRows(table, letters_->letters(target), length, first, stretches, best);
    first += length + 1;
    for (size_t query = 0; query < texts_.size(); ++query) scores[query][item] = best[query];
  }
}

}  // namespace gloaming
