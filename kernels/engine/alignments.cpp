#include "engine/alignments.h"

#include <algorithm>

#include "engine/workspace.h"

namespace gloaming {
namespace {

/** Query and target rows, half-open. */
struct Rectangle {
  uint32_t queryStart, queryEnd, targetStart, targetEnd;

  bool isEmpty() const { return queryStart >= queryEnd || targetStart >= targetEnd; }
  bool contains(const Rectangle& other) const {
    return queryStart <= other.queryStart && other.queryEnd <= queryEnd && targetStart <= other.targetStart &&
           other.targetEnd <= targetEnd;
  }
  bool overlaps(const Rectangle& other) const {
    return queryStart < other.queryEnd && other.queryStart < queryEnd && targetStart < other.targetEnd &&
           other.targetStart < targetEnd;
  }
};

Rectangle rectangleOf(const AffineAlignment& a) { return {a.queryStart, a.queryEnd, a.targetStart, a.targetEnd}; }

/** A maximal free rectangle that scores enough. */
struct Part {
  Rectangle place;
  int32_t score = 0;
  /** Whether the path is known. */
  bool isAligned = false;
  OwnedAlignment alignment = {};
};

class Finder {
 public:
  Finder(const Kernels& kernels, const AffineTask& task, int32_t leastScore)
      : kernels_(kernels), task_(task), leastScore_(std::max(1, leastScore)) {}

  AlignmentList find(uint32_t maxCount) {
    AlignmentList found;
    Part whole{{0, task_.query.tokens.length, 0, task_.targetLength}};
    alignPart(whole);
    found.alignments.push_back(whole.alignment);
    if (whole.score == 0) return found;
    parts_.push_back(std::move(whole));
    take(rectangleOf(found.alignments[0].fixed));
    while (!parts_.empty() && !isCancelled()) {
      if (found.alignments.size() == maxCount) {
        found.isCut = true;
        break;
      }
      found.alignments.push_back(best());
      take(rectangleOf(found.alignments.back().fixed));
    }
    return found;
  }

 private:
  bool isCancelled() const { return task_.cancelled.load(std::memory_order_relaxed); }

  /* Calls a kernel on a part, with its query rows packed. */
  template <class Kernel>
  auto onPart(const Rectangle& place, Kernel kernel) const {
    const uint32_t queryLength = place.queryEnd - place.queryStart, targetLength = place.targetEnd - place.targetStart;
    PackedQuery query = task_.query;
    if (queryLength < query.tokens.length) {
      const Tokens own = rowsOfTokens(query.tokens, place.queryStart, queryLength);
      void* packed = task_.workspace.reserve(Workspace::kPart, kernels_.affinePackedBytes(queryLength, own.dimension));
      const AffineTask part = partOfTask(task_, query, place.queryStart, place.targetStart, targetLength);
      kernels_.affinePack({own, part.letters.query, part.profiles.query, part.parameters}, packed);
      query = {own, packed};
    }
    return kernel(partOfTask(task_, query, place.queryStart, place.targetStart, targetLength));
  }

  void alignPart(Part& part) const {
    part.alignment = OwnedAlignment(onPart(part.place, kernels_.affineAlign));
    part.score = part.alignment.fixed.score;
    part.isAligned = true;
    part.alignment.move(part.place.queryStart, part.place.targetStart);
  }

  /* Returns the alignment that comes first. Only parts with the best score need their paths. */
  OwnedAlignment best() {
    int32_t score = 0;
    for (const Part& part : parts_) score = std::max(score, part.score);
    const Part* first = nullptr;
    for (Part& part : parts_) {
      if (part.score < score) continue;
      if (!part.isAligned) alignPart(part);
      if (first == nullptr || part.alignment.comesBefore(first->alignment)) first = &part;
    }
    return first->alignment;
  }

  /* Removes a rectangle from the parts: what is left of each is above, below, before or behind it. */
  void take(const Rectangle& taken) {
    std::vector<Part> left, cut;
    for (Part& part : parts_) (part.place.overlaps(taken) ? cut : left).push_back(std::move(part));
    std::vector<std::pair<Rectangle, const Part*>> pieces;
    for (const Part& part : cut) {
      const auto& [queryStart, queryEnd, targetStart, targetEnd] = part.place;
      for (const Rectangle& piece : {Rectangle{queryStart, taken.queryStart, targetStart, targetEnd},
                                     Rectangle{taken.queryEnd, queryEnd, targetStart, targetEnd},
                                     Rectangle{queryStart, queryEnd, targetStart, taken.targetStart},
                                     Rectangle{queryStart, queryEnd, taken.targetEnd, targetEnd}}) {
        if (!piece.isEmpty()) pieces.emplace_back(piece, &part);
      }
    }
    const size_t keptCount = left.size();
    for (size_t p = 0; p < pieces.size() && !isCancelled(); ++p) {
      const Rectangle& piece = pieces[p].first;
      const auto isInKept = [&piece](const Part& part) { return part.place.contains(piece); };
      if (std::any_of(left.begin(), left.begin() + static_cast<ptrdiff_t>(keptCount), isInKept)) continue;
      if (isInOther(pieces, p)) continue;
      addPiece(piece, *pieces[p].second, left);
    }
    parts_ = std::move(left);
  }

  /* Whether another piece contains this one; of equal pieces the first counts. */
  static bool isInOther(const std::vector<std::pair<Rectangle, const Part*>>& pieces, size_t p) {
    const Rectangle& piece = pieces[p].first;
    for (size_t other = 0; other < pieces.size(); ++other) {
      if (other == p || !pieces[other].first.contains(piece)) continue;
      if (!piece.contains(pieces[other].first) || other < p) return true;
    }
    return false;
  }

  /* Adds a piece of a part if it scores enough. A path of the part that lies in the piece is that of the piece. */
  void addPiece(const Rectangle& piece, const Part& part, std::vector<Part>& to) const {
    Part added{piece};
    if (part.isAligned && piece.contains(rectangleOf(part.alignment.fixed))) {
      added = part;
      added.place = piece;
    } else {
      added.score = onPart(piece, kernels_.affineScore);
    }
    if (added.score >= leastScore_) to.push_back(std::move(added));
  }

  const Kernels& kernels_;
  const AffineTask& task_;
  const int32_t leastScore_;
  /** The maximal free rectangles that score enough. */
  std::vector<Part> parts_;
};

}  // namespace

AlignmentList affineAlignAll(const Kernels& kernels, const AffineTask& task, int32_t leastScore, uint32_t maxCount) {
  return Finder(kernels, task, leastScore).find(maxCount);
}

}  // namespace gloaming
