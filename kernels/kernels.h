/*
 * Gloaming's kernels: read this first.
 *
 * Operations on int8 residue tokens. Plain loops in reference/ define each of them; the faster folders reproduce its
 * results bit for bit:
 *
 *     maxsim     sums, in both directions, of each token's best dot product with the other protein's tokens
 *                Shape  query [queryLength × dimension], target [targetLength × dimension]; two int32
 *                Range  ±65,535 × 32,767     Unit  int8 products     maxsimReference, referenceMaxsimRows
 *     excess     sum over query tokens of max(0, best dot product − floor), where a search has a floor
 *                Shape  as maxsim; one int32     Range  0..65,535 × 32,767 for floor ≥ 0
 *                Unit   int8 products     excessReference
 *     affine     best local alignment with affine gaps; the substitution score is an integer function of the dot
 *                product and, where they score, of the two letters and of the two profiles
 *                Shape  as maxsim; one int32, or an AffineAlignment     Range  0..65,535 × 32,767
 *                Unit   substitution scores     referenceAffineScore, referenceAffineAlign, profileLog
 *     profiles   best local alignment by the profiles alone, whose columns support each other (profile_score.h)
 *                Shape  profiles [length × kProfileWidth] of both; one int32     Range  0..32,767, where it saturates
 *                Unit   16ths of a bit     referenceProfileScore
 *     alignments further affine alignments of a pair, disjoint from all earlier ones in query or target
 *                Shape  one AlignmentList     Range  1..kMaxAlignments alignments
 *                Unit   as affine     referenceAffineAlignAll; engine/alignments.h
 *     self       sum over residues of max(0, s(i,i)): the affine score of a protein with itself without gaps
 *                Shape  tokens [length × dimension]; one int32     Range  0..65,535 × 32,767
 *                Unit   substitution scores     selfScore
 *     coded      excess of a target, whose rows are centroid ids, with up to kCodedQueries queries, and the votes of
 *                its best band of diagonals
 *                Shape  table [kCodeCount], codes [rows]; two uint32 a query
 *                Range  0..65,535 × 255, and 0..65,535     Unit  128ths of int8 products; votes     referenceCodedRows
 *     kmers      best ungapped score of a target with up to kCodedQueries queries around a pair of similar k-mers
 *                Shape  letters [rows]; one uint32 a query     Range  0, or kKmerLeast..65,535 × 11
 *                Unit   BLOSUM62 scores     referenceKmerRows; engine/kmer_search.h
 *     encode     unit vectors of residues from letters, by an encoder of int8 weights: encoder.h
 *     moments    sum of the outer products of a protein's tokens, upper triangle
 *                Shape  rows [count × dimension]; int32 [dimension × (dimension + 1) ÷ 2]
 *                Range  ±65,535 × 2^14     Unit  int8 products     referenceSecondMoments
 *
 * Layers, top to bottom:
 *
 *     node/                        the addon, the only code that uses Node's API
 *     engine/                      many targets, work split by residues, results in list order (search.h); threads,
 *                                  mapped or copied tokens, memory of one thread (pool.h, store.h, workspace.h);
 *                                  second moments of a protein's tokens, for significance (moments.h)
 *     dispatch.cpp                 picks one table of kernels (struct Kernels below) at run time
 *     reference/ avx2/ avx512/ amx/ neon/
 *                                  one table each, the same file names in each; affine kernels share wavefront.h (one
 *                                  target) and batch.h (one target per lane)
 *     cuda/                        on GPUs: layout.h defines the layout of tokens, sweep.h maxsim and excess, affine.h
 *                                  affine scores
 *
 * Why it cannot overflow. Every token has squared norm ≤ 32,767, so by Cauchy–Schwarz |q·t| ≤ 32,767: a dot product
 * fits in int16. A sum of maxima has at most 65,535 terms: 65,535 × 32,767 = 2,147,385,345 < 2^31. Inside a dot product
 * the largest partial sum is 256 × 255 × 128 = 8,355,840 in magnitude (one side biased to unsigned), far from 2^31.
 * Integer sums and maxima are exact in any order, so no instruction set, tile, thread count or batch can change a bit.
 *
 * Profiles. A row describes the amino acids of the homologs at one residue: kProfileValues values of 0..127 in
 * kProfileWidth bytes, of which the rest is not read. A row's squared norm is ≤ 32,767, so the dot product x of two
 * rows and all its partial sums are 0..32,767 and fit in 16 bits. The score of two profiles is a multiple of
 * log2((x + 1) ÷ 2), interpolated linearly between powers of two (up to .086 octaves too low):
 *
 *     L = 1,024 × (e − 2) + ((x + 1) << 10 >> e)        e = ⌊log2(x + 1)⌋; −1,024 ≤ L ≤ 14,336
 *
 * A float32 holds this value: x + 1 is exact in one, and its bits 13 to 28 are L modulo 2^16. So fast kernels convert,
 * shift, and take sixteen bits.
 *
 * Layout in memory. Targets stay as the release stores them: row-major, one row of `dimension` bytes per residue. A
 * table may prepare them once for all queries of a call, kPreparedRows at a time, still row-major (maxsimPrepare). Only
 * batch.h packs targets, one row of each at a time. The query is packed once per call: a vector register holds the same
 * four bytes (int8: "quad") of neighbouring tokens, so that one broadcast of four target bytes multiplies them all.
 * With AVX2 it holds two bytes for MaxSim:
 *
 *     target row t     | b0 b1 b2 b3 | b4 b5 b6 b7 | …            dimension bytes
 *                        └─ quad 0 ─┘  └─ quad 1 ─┘
 *
 *     packed query     vector (block, quad): quad of token 0 | quad of token 1 | … | quad of token 15
 *                      vectors of one block follow each other by quad, then comes the next block of tokens:
 *
 *                      block 0:  quad 0 [t0 … t15]  quad 1 [t0 … t15]  …  quad dimension/4 − 1
 *                      block 1:  quad 0 [t16 … t31] …
 *
 * A last block that is not full repeats the last token: a repeated token cannot change a target's maximum, and the
 * maxima of the repeats are never read. A packed query is 64-byte aligned.
 *
 * Codebook. A release may store one 16-bit centroid id (a code) per row: the nearest of kCodeCount centroids (words). A
 * table holds, for each centroid and query, the best dot product in eight bits, the group of query rows that has it in
 * four, and the weight of a vote in four. A look-up per row sums the excess of kCodedQueries queries at once. 65,535
 * rows × 255 fits in 32 bits. Few rows of a target have a weight. Such a row votes for its diagonal, which is its place
 * less the middle of the group. Homologous rows share diagonals, and rows that are near by chance do not.
 *
 * K-mers. A table of up to kCodedQueries queries lists, for each k-mer of amino acids, the places of the queries that
 * are similar to it: whose BLOSUM62 score with it is at least kKmerLeast. Every kKmerStep-th k-mer of a target is
 * looked up. From each listed place, the pair is extended along its diagonal in both directions, until the score is
 * more than kKmerDrop below the best one (X-drop). A letter that is no amino acid ends the extension, as the end of a
 * protein does.
 */
#ifndef GLOAMING_KERNELS_H
#define GLOAMING_KERNELS_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "encoder.h"

namespace gloaming {

constexpr uint32_t kDimensionStep = 32;
constexpr uint32_t kMaxDimension = 256;
constexpr uint32_t kMaxLength = 65'535;
constexpr uint32_t kLetterCount = 32;
constexpr uint32_t kLetterPadding = 8;
/** Most alignments of one pair. */
constexpr uint32_t kMaxAlignments = 100;
constexpr uint32_t kProfileWidth = 32;
constexpr uint32_t kProfileValues = 20;
/** Most rows of a target in one call of maxsimRows: they and their maxima stay in the first-level cache. */
constexpr uint32_t kMaxRows = 64;
/** Rows prepared together for all queries: with a query's tokens they stay in the first-level cache. */
constexpr uint32_t kPreparedRows = 2 * kMaxRows;
/** Number of centroids: all values of 16 bits, so that no centroid id lies outside a table. */
constexpr uint32_t kCodeCount = 65'536;
/** Queries per table: two bytes each in a row of a table, which fills a register of 512 bits and a line of a cache. */
constexpr uint32_t kCodedQueries = 32;
/** Groups of neighbouring rows of a query. */
constexpr uint32_t kRowGroups = 16;
/** Residues of a k-mer. */
constexpr uint32_t kKmerLength = 5;
/** A target's k-mers are looked up at its rows 0, kKmerStep, 2 × kKmerStep … */
constexpr uint32_t kKmerStep = 2;
/** Least BLOSUM62 score of two similar k-mers. In unrelated proteins, 3 of a million pairs of k-mers have it. */
constexpr int32_t kKmerLeast = 24;
/** X-drop: most that an extension loses before it ends. It must be less than kKmerLeast (kmers.h). */
constexpr int32_t kKmerDrop = 16;
/** Letters of k-mers: the twenty amino acids in BLOSUM62's order, then kNoAminoAcid. */
constexpr uint32_t kKmerLetters = 21;
constexpr uint8_t kNoAminoAcid = 20;
constexpr uint32_t kKmerCount = kKmerLetters * kKmerLetters * kKmerLetters * kKmerLetters * kKmerLetters;
/** Columns of a table of scores. */
constexpr uint32_t kKmerWidth = 32;
/** Stretches that a thread remembers. */
constexpr uint32_t kStretchCount = 4'096;
/** Arrays with one value per query token are padded to a multiple of this, so that kernels may access whole vectors. */
constexpr uint32_t kTokenRound = 64;

constexpr uint32_t roundUp(uint32_t value, uint32_t step) { return (value + step - 1) / step * step; }

/** Row-major int8 [length × dimension]. */
struct Tokens {
  const int8_t* values;
  uint32_t length;
  uint32_t dimension;
};

/** A query for one table of kernels; that table's pack function wrote `packed`. */
struct PackedQuery {
  Tokens tokens;
  const void* packed;
};

/*
 * Substitution score of two residues: ((dot × multiplier) >> 16) − offset, arithmetic shift, + the score of their
 * letters + that of their profiles, (L × profileWeight) >> 16. A gap of k residues costs gapOpen + (k − 1) × gapExtend.
 * Range  multiplier 1..32,767; offset −16,384..32,767, with scores of letters −16,256..32,639, with those of profiles
 *        −8,192 at least; profileWeight 0..32,767; 0 ≤ gapExtend ≤ gapOpen ≤ 4,095
 */
struct AffineParameters {
  int32_t multiplier;
  int32_t offset;
  int32_t gapOpen;
  int32_t gapExtend;
  /** [kLetterCount × kLetterCount], by query and target letter, each −127..127; null where letters score nothing. */
  const int8_t* letterScores = nullptr;
  /** 0 where profiles score nothing; a doubled x scores a 64th of it. */
  int32_t profileWeight = 0;

  int32_t letterScore(uint8_t query, uint8_t target) const {
    return letterScores == nullptr ? 0 : letterScores[query * kLetterCount + target];
  }
};

/** The number of a residue's letter, below kLetterCount; one per residue. */
struct Letters {
  const uint8_t* query;
  /** Followed by kLetterPadding more, which kernels read and ignore. */
  const uint8_t* target;
};

/** Rows of kProfileWidth bytes; null where profiles score nothing. */
struct Profiles {
  const int8_t* query;
  const int8_t* target;
};

/** The input of affinePack. */
struct AffineQuery {
  const Tokens& tokens;
  const uint8_t* letters;
  const int8_t* profile;
  const AffineParameters& parameters;
};

/** MaxSim of a pair, in both directions. */
struct PairSums {
  int32_t queryToTarget, targetToQuery;
};

/** Row of a table: an entry of each query for one centroid. */
struct alignas(64) TableRow {
  /** Bits 8 to 15: best dot product >> 7. Bits 4 to 7: weight of a vote. Bits 0 to 3: group of the closest row. */
  uint16_t entries[kCodedQueries];
};

/** Diagonals of the queries of a table. A band has two halves, and each half is part of two bands. */
struct Diagonals {
  /** Length of the query less the middle of each group, so that no diagonal is below 0; 0..65,535. */
  uint32_t origins[kCodedQueries][kRowGroups];
  /** log2 of the diagonals of half a band. */
  uint32_t shifts[kCodedQueries];
};

/** Places of up to kCodedQueries queries by similar k-mer. The number of a k-mer has its letters as digits to the base
 * kKmerLetters. The n-th k-mer that has places has places[starts[n]] … places[starts[n + 1] − 1]. */
struct KmerTable {
  /** A bit for each k-mer that has places, [⌈kKmerCount ÷ 64⌉]. */
  const uint64_t* bits;
  /** K-mers with places below each value of bits. */
  const uint32_t* before;
  const uint32_t* starts;
  /** Indices in letters, ascending for each k-mer. */
  const uint32_t* places;
  /** All queries, with kNoAminoAcid before the first and after each. */
  const uint8_t* letters;
  /** Query of each letter. */
  const uint8_t* queries;
  /** [kKmerLetters × kKmerWidth]: BLOSUM62; with kNoAminoAcid less than −kKmerDrop. */
  const int8_t* scores;
};

/** The last extended stretch of a diagonal: rows of the target up to its end, which is the last row. */
struct Stretch {
  uint32_t diagonal, end;
};

/** Kinds of runs, seen from the query: a pair, query residues facing a gap, target residues facing a gap. */
enum Run : uint32_t { kPair = 0, kInsertion = 1, kDeletion = 2 };

/** Zero-based half-open coordinates; runs are (length << 2 | kind) from start to end and lie in the workspace. */
struct AffineAlignment {
  int32_t score;
  uint32_t queryStart, queryEnd;
  uint32_t targetStart, targetEnd;
  const uint32_t* runs;
  uint32_t runCount;
};

class Workspace;

/** One query against one target. */
struct AffineTask {
  const PackedQuery& query;
  /** Row-major rows of the target. */
  const int8_t* target;
  uint32_t targetLength;
  Letters letters;
  Profiles profiles;
  AffineParameters parameters;
  Workspace& workspace;
  /** Kernels check it at least every few hundred thousand cells. If it is set, they return early with a void result. */
  const std::atomic<bool>& cancelled;
};

/* A table of kernels. Its functions write only their outputs and may run on many threads at once. */
/** Time of a target by affineScore, as a multiple of its time in a full batch, measured with dimension 64. `measures`
 * adds MaxSim by maxsimRows. */
struct TimesAlone {
  double scores, measures;
};

struct Kernels {
  const char* name;

  size_t (*maxsimPackedBytes)(uint32_t length, uint32_t dimension);
  void (*maxsimPack)(const Tokens& query, void* packed);
  /** Bytes of a prepared row per dimension; 0 where maxsimRows takes stored rows. */
  uint32_t maxsimPreparedBytes;
  /* Writes 1..kPreparedRows prepared rows, 64-byte aligned; null where maxsimRows takes stored rows. */
  void (*maxsimPrepare)(const int8_t* rows, uint32_t rowCount, uint32_t dimension, void* prepared);
  /*
   * Σ over 1..kMaxRows (prepared) target rows of the best dot product with any query token.
   * closest [roundUp(length, kTokenRound)]: raised to each query token's best dot product with any of these rows.
   */
  int32_t (*maxsimRows)(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest);

  size_t (*affinePackedBytes)(uint32_t length, uint32_t dimension);
  void (*affinePack)(const AffineQuery& query, void* packed);
  int32_t (*affineScore)(const AffineTask& task);
  /** Targets that affineScores processes at once; 1 where it calls affineScore for each. */
  uint32_t affineBatch;
  TimesAlone affineAlone;
  /* Scores of any number of tasks of one query. Lanes end together if the longest targets come first. */
  void (*affineScores)(const AffineTask* tasks, uint32_t count, int32_t* scores);
  /* The same with MaxSim from the same dot products; null where the table has no batches. */
  void (*affineMeasures)(const AffineTask* tasks, uint32_t count, int32_t* scores, PairSums* sums);
  AffineAlignment (*affineAlign)(const AffineTask& task);
  /* Profile scores (profile_score.h) of any number of tasks of one query. Tokens, letters and parameters count for
   * nothing. */
  void (*profileScores)(const AffineTask* tasks, uint32_t count, int32_t* scores);

  /* Writes excess, the sum of max(0, dot product − floor) over 1..kMaxLength rows of a target, and votes, the weight of
   * the best band; both [kCodedQueries]. codes: the centroid ids of the rows. floor: 0..255. halves [halfCount ×
   * kCodedQueries]: zeros, which it overwrites; half (row + origin) >> shift must exist for each row and query. Weights
   * saturate at 65,535. */
  void (*codedRows)(const TableRow* table, const uint16_t* codes, uint32_t count, uint8_t floor,
                    const Diagonals& diagonals, uint16_t* halves, uint32_t halfCount, uint32_t* excess,
                    uint32_t* votes);

  /* Writes the best ungapped score of a target with each query, [kCodedQueries]; 0 where no k-mers are similar.
   * letters: 1..kMaxLength of a target, with kNoAminoAcid before the first and after the last. first: rows before it in
   * the call of a chunk, each target with one more. stretches [kStretchCount]: zeros at the start of a chunk, which its
   * targets share in ascending order of `first` */
  void (*kmerRows)(const KmerTable& table, const uint8_t* letters, uint32_t count, uint32_t first, Stretch* stretches,
                   uint32_t* best);

  /* Writes unit vectors of a protein's residues, [length × dimension]; null where ONNX Runtime encodes.
   * letters: 1..kMaxLength, each below kEncoderLetters */
  void (*encode)(const EncoderWeights& model, const uint8_t* letters, uint32_t length, Workspace& workspace,
                 float* vectors);
};

extern const Kernels referenceKernels;
#if defined(__x86_64__)
extern const Kernels avx2Kernels;
extern const Kernels avx512vnniKernels;
#if defined(GLOAMING_HAS_AMX)
extern const Kernels amxKernels;
#endif
#elif defined(__aarch64__)
extern const Kernels neonKernels;
#endif

/** All tables compiled in, in the order of preference; count is written. */
const Kernels* const* compiledKernels(size_t* count);
/** Whether this processor and its operating system can run the table. */
bool canRun(const Kernels& kernels);
/** The named table, or the fastest that can run if name is null or empty; null if it is unknown or cannot run. */
const Kernels* chooseKernels(const char* name);

}  // namespace gloaming

#endif
