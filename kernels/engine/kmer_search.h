/* Similar k-mers of amino acids: the letters of a release, tables of the places of queries by similar k-mer, and the
 * best ungapped scores of targets. The look-up needs no index of the release: it reads the letters of all targets once
 * for up to kCodedQueries queries. */
#ifndef GLOAMING_KMER_SEARCH_H
#define GLOAMING_KMER_SEARCH_H

#include "engine/search.h"

namespace gloaming {

/** Letters of all targets of a release, as numbers, with kNoAminoAcid before the first and after each. */
class TargetLetters {
 public:
  /* Shape   starts as those of a store; text: an ASCII character per residue, one target after the other
   * Errors  ShapeError if the text has not one character per residue */
  TargetLetters(std::vector<uint32_t> starts, const uint8_t* text, size_t count);

  uint32_t targetCount() const { return static_cast<uint32_t>(starts_.size() - 1); }
  uint32_t length(uint32_t target) const { return starts_[target + 1] - starts_[target]; }
  const uint8_t* letters(uint32_t target) const { return letters_.data() + starts_[target] + target + 1; }

 private:
  const std::vector<uint32_t> starts_;
  std::vector<uint8_t> letters_;
};

/** Owns a table of up to kCodedQueries queries. */
class KmerPlaces {
 public:
  /* Shape   texts: an ASCII character per residue of each query
   * Errors  ShapeError if there is not 1 to kCodedQueries queries of 1..65,535 residues */
  explicit KmerPlaces(const std::vector<std::vector<uint8_t>>& texts);
  KmerTable view() const;

 private:
  std::vector<uint64_t> bits_;
  std::vector<uint32_t> before_, starts_, places_;
  std::vector<uint8_t> letters_, queries_;
};

/* Best ungapped scores of each listed target with up to kCodedQueries queries. */
class KmerSearch : public Search {
 public:
  /* Shape  texts as of KmerPlaces; eligible: ascending target indices, all targets without it */
  KmerSearch(const Kernels& kernels, std::shared_ptr<const TargetLetters> letters,
             std::vector<std::vector<uint8_t>> texts, std::optional<std::vector<uint32_t>> eligible, Done done);
  /** One per query, each in list order. */
  std::vector<std::vector<uint32_t>> scores;

 protected:
  uint64_t prepare() override;
  void run(uint64_t chunk, Workspace& workspace) override;

 private:
  uint32_t itemCount() const { return eligible_ ? static_cast<uint32_t>(eligible_->size()) : letters_->targetCount(); }

  const std::shared_ptr<const TargetLetters> letters_;
  const std::vector<std::vector<uint8_t>> texts_;
  const std::optional<std::vector<uint32_t>> eligible_;
  std::optional<KmerPlaces> places_;
};

}  // namespace gloaming

#endif
