/* The functions that define the results. Dispatch, tests, benches and the self-score use them; fast kernels do not. */
#ifndef GLOAMING_REFERENCE_H
#define GLOAMING_REFERENCE_H

#include <vector>

#include "kernels.h"

namespace gloaming {

struct MaxSim {
  int32_t queryToTarget;
  int32_t targetToQuery;
};

int32_t dotProduct(const int8_t* a, const int8_t* b, uint32_t dimension);
MaxSim maxsimReference(const Tokens& query, const Tokens& target);
int32_t excessReference(const Tokens& query, const Tokens& target, int32_t floor);
/** One term of an excess: max(0, best − floor). */
int32_t excessOver(int32_t floor, int32_t best);
int32_t referenceMaxsimRows(const PackedQuery& query, const void* stored, uint32_t rowCount, int32_t* closest);

void referenceCodedRows(const TableRow* table, const uint16_t* codes, uint32_t count, uint8_t floor,
                        const Diagonals& diagonals, uint16_t* halves, uint32_t halfCount, uint32_t* excess,
                        uint32_t* votes);

void referenceKmerRows(const KmerTable& table, const uint8_t* letters, uint32_t count, uint32_t first,
                       Stretch* stretches, uint32_t* best);

void referenceEncode(const EncoderWeights& model, const uint8_t* letters, uint32_t length, Workspace& workspace,
                     float* vectors);

void referenceSecondMoments(const int8_t* rows, uint32_t count, uint32_t dimension, int32_t* products);

/** log2((dot + 1) ÷ 2) in 1,024ths, linear between powers of two; dot ≤ 32,767. */
int32_t profileLog(uint32_t dot);
int32_t selfScore(const AffineQuery& query);
int32_t referenceAffineScore(const AffineTask& task);
AffineAlignment referenceAffineAlign(const AffineTask& task);

int32_t referenceProfileScore(const AffineTask& task);
void referenceProfileScores(const AffineTask* tasks, uint32_t count, int32_t* scores);

/** An alignment with its own runs; `fixed.runs` is null. Without a pair that scores it has the score 0. */
struct OwnedAlignment {
  AffineAlignment fixed{};
  std::vector<uint32_t> runs;

  OwnedAlignment() = default;
  explicit OwnedAlignment(const AffineAlignment& alignment);
  /* Moves coordinates of a part of a pair to those of the pair. */
  void move(uint32_t queryRows, uint32_t targetRows);
  /* The order of reference/alignments.cpp: descending scores, with its ties. */
  bool comesBefore(const OwnedAlignment& other) const;
};

/** Alignments of one pair, the best first; at least one, which has score 0 if no pair of rows scores. */
struct AlignmentList {
  std::vector<OwnedAlignment> alignments;
  /** Whether another alignment would follow the last. */
  bool isCut = false;
};

Tokens rowsOfTokens(const Tokens& tokens, uint32_t first, uint32_t count);
/* The task of query rows from queryStart on, which `query` packs, with some target rows. */
AffineTask partOfTask(const AffineTask& task, const PackedQuery& query, uint32_t queryStart, uint32_t targetStart,
                      uint32_t targetLength);
AlignmentList referenceAffineAlignAll(const AffineTask& task, int32_t leastScore, uint32_t maxCount);

}  // namespace gloaming

#endif
