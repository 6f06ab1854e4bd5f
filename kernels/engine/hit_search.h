/* The hits of the codebook prefilter: the targets that are best by three coarse scores together. */
#ifndef GLOAMING_HIT_SEARCH_H
#define GLOAMING_HIT_SEARCH_H

#include "engine/coded_search.h"
#include "engine/kmer_search.h"

namespace gloaming {

/* Finds, for each query, the targets with the least product of three ranks: by excess, by votes for one band of
 * diagonals, and by k-mers. The excess finds what is similar everywhere, the votes what is similar in one stretch, the
 * k-mers what has similar amino acids. The product adds the logarithms of three tails: what is rare in all orders comes
 * first.
 *
 * Excess and votes are divided by what a target of that length has by chance, up to a factor. A long target has more
 * bands, of which the best one counts. The two exponents, ½ and ¼, were measured together. With ¾ and 0, the hits had
 * fewer of the nearest targets. Targets without a k-mer score above chance share the last rank by k-mers.
 *
 * Each rank counts the targets with at least the score, rounded down to seven binary digits: a histogram takes the
 * place of a sort. */
class HitSearch : public CodedJob {
 public:
  /** Hits of one query, by ascending target. */
  struct Hits {
    /** `kmers` are above chance, in half bits. `ranks` are places in the order of the products, from 0. */
    std::vector<uint32_t> targets, kmers, ranks;
  };
  /* Shape  coded and kmers: ended searches of the same queries and targets; eligible: as they had
   * Range  at most `count` hits a query; targets without excess, votes and k-mers are none; equal products are ordered
   *        by target */
  HitSearch(const Kernels& kernels, std::shared_ptr<const Codes> codes, std::shared_ptr<const CodedSearch> coded,
            std::shared_ptr<const KmerSearch> kmers, std::optional<std::vector<uint32_t>> eligible, uint32_t count,
            Done done);
  /** One per query. */
  std::vector<Hits> hits;

 protected:
  uint64_t prepare() override;
  void run(uint64_t query, Workspace& workspace) override;

 private:
  /** A target by its place among the eligible ones, and the product of its ranks. */
  struct Ranked {
    double product;
    uint32_t place;
    bool operator<(const Ranked& other) const {
      return product != other.product ? product < other.product : place < other.place;
    }
  };
  std::vector<Ranked> bestOf(uint64_t query) const;
  uint32_t targetAt(uint32_t place) const { return eligible_ ? (*eligible_)[place] : place; }
  uint32_t kmersAt(uint64_t query, uint32_t place) const;

  const std::shared_ptr<const Codes> codes_;
  const std::shared_ptr<const CodedSearch> coded_;
  const std::shared_ptr<const KmerSearch> kmers_;
  const std::optional<std::vector<uint32_t>> eligible_;
  const uint32_t count_;
  /** Square and fourth roots of the lengths of the eligible targets. */
  std::vector<double> roots_, fourthRoots_;
};

}  // namespace gloaming

#endif
