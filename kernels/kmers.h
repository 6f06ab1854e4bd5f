/* Look-ups of k-mers, which the tables of all instruction sets share. Internal to each file that includes it.
 *
 * A stretch is extended once. A pair of k-mers that lies within the last extended stretch of its diagonal is passed
 * over. This cannot change the best score. Let c be the last letter of the extended k-mer, and c' that of the other
 * one: c ≤ c' ≤ the end of the stretch. Let S be the score of the rows from c + 1 to c'.
 *
 * To the right, both extensions end at the same row, and that from c' has S less. To the left, that from c' has S more
 * at c, and ends no later than that from c. If its best row is after c, it has S less the score of the rows from c + 1
 * up to there. This score is at least −kKmerDrop, or the stretch had ended there. So it has at most S + kKmerDrop, and
 * the k-mer at c alone has S + kKmerLeast, which is more.
 */
#ifndef GLOAMING_KMERS_H
#define GLOAMING_KMERS_H

#include "kernels.h"

namespace gloaming {
namespace {

static_assert(kKmerDrop < kKmerLeast, "a k-mer must be worth more than what an extension may lose");

/** K-mers of a target that are looked up together: their arrays stay in the first-level cache. */
constexpr uint32_t kKmersAtOnce = 128;

inline int32_t pairScore(const KmerTable& table, uint8_t query, uint8_t target) {
  return table.scores[query * kKmerWidth + target];
}

/* Returns the best ungapped score around a pair of k-mers.
 * last: written, rows from the start of the k-mer to the last one of the stretch */
inline uint32_t extend(const KmerTable& table, const uint8_t* query, const uint8_t* target, uint32_t* last) {
  int32_t score = 0, right = 0, left = 0;
  uint32_t end = kKmerLength - 1;
  for (uint32_t row = kKmerLength; right - score <= kKmerDrop; ++row) {
    score += pairScore(table, query[row], target[row]);
    if (score <= right) continue;
    right = score;
    end = row;
  }
  score = 0;
  for (const uint8_t *q = query + kKmerLength - 1, *t = target + kKmerLength - 1; left - score <= kKmerDrop; --q, --t) {
    score += pairScore(table, *q, *t);
    left = score > left ? score : left;
  }
  *last = end;
  return static_cast<uint32_t>(left + right);
}

/** Places of one k-mer of a target. */
struct KmerHits {
  /** Number of the k-mer in its block. */
  uint32_t at;
  uint32_t start, end;
};

/* Lists which of up to kKmersAtOnce k-mers, from these letters on, have places in the table, and returns how many do.
 * The loops have no branches and fetch ahead, because the table is larger than the second-level cache.
 * hits [kKmersAtOnce + 1] */
inline uint32_t listHits(const KmerTable& table, const uint8_t* letters, uint32_t kmerCount, KmerHits* hits) {
  uint32_t kmers[kKmersAtOnce];
  for (uint32_t at = 0; at < kmerCount; ++at) {
    const uint8_t* first = letters + at * kKmerStep;
    uint32_t kmer = first[0];
    for (uint32_t k = 1; k < kKmerLength; ++k) kmer = kmer * kKmerLetters + first[k];
    kmers[at] = kmer;
  }
  uint32_t count = 0;
  for (uint32_t at = 0; at < kmerCount; ++at) {
    hits[count].at = at;
    count += table.bits[kmers[at] / 64] >> kmers[at] % 64 & 1;
  }
  for (uint32_t hit = 0; hit < count; ++hit) {
    const uint32_t kmer = kmers[hits[hit].at];
    const uint64_t below = table.bits[kmer / 64] & ((uint64_t{1} << kmer % 64) - 1);
    hits[hit].start = table.before[kmer / 64] + static_cast<uint32_t>(__builtin_popcountll(below));
    __builtin_prefetch(table.starts + hits[hit].start);
  }
  for (uint32_t hit = 0; hit < count; ++hit) {
    const uint32_t number = hits[hit].start;
    hits[hit].start = table.starts[number];
    hits[hit].end = table.starts[number + 1];
    __builtin_prefetch(table.places + hits[hit].start);
  }
  return count;
}

/* The function of a table (kernels.h). */
inline void lookUpKmers(const KmerTable& table, const uint8_t* letters, uint32_t count, uint32_t first,
                        Stretch* stretches, uint32_t* best) {
  for (uint32_t query = 0; query < kCodedQueries; ++query) best[query] = 0;
  const uint32_t kmerCount = count < kKmerLength ? 0 : (count - kKmerLength) / kKmerStep + 1;
  for (uint32_t block = 0; block < kmerCount; block += kKmersAtOnce) {
    KmerHits hits[kKmersAtOnce + 1];
    const uint32_t kmers = kmerCount - block < kKmersAtOnce ? kmerCount - block : kKmersAtOnce;
    const uint32_t hitCount = listHits(table, letters + block * kKmerStep, kmers, hits);
    for (uint32_t hit = 0; hit < hitCount; ++hit) {
      const uint32_t row = (block + hits[hit].at) * kKmerStep;
      for (uint32_t at = hits[hit].start; at < hits[hit].end; ++at) {
        const uint32_t place = table.places[at], diagonal = first + row - place;
        Stretch& stretch = stretches[diagonal % kStretchCount];
        if (stretch.diagonal == diagonal && first + row + kKmerLength - 1 <= stretch.end) continue;
        uint32_t last;
        const uint32_t score = extend(table, table.letters + place, letters + row, &last);
        stretch = {diagonal, first + row + last};
        uint32_t& bestOfQuery = best[table.queries[place]];
        if (score > bestOfQuery) bestOfQuery = score;
      }
    }
  }
}

}  // namespace
}  // namespace gloaming

#endif
