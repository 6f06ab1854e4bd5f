/* Ranks all targets for each query by bidirectional MaxSim, then the best of them by affine alignment score.
 *
 * usage   rank_dev VECTORS LENGTHS NAMES QUERIES OUT KEPT RESCORED [MULTIPLIER OFFSET OPEN EXTEND]...
 * Input   VECTORS: float32 [residues x 64], whole numbers for int8 (their dot products are then exact);
 *         LENGTHS and NAMES: one a line, in the order of VECTORS; QUERIES: numbers into NAMES
 * Output  OUT.maxsim and, for the n-th quadruple of parameters, OUT.affine<n>: query <tab> target <tab> score
 * Range   KEPT pairs a query by MaxSim; RESCORED of them by alignment. Vectors that are not quantised must be
 *         scaled to length 173, so that one set of affine parameters fits both
 * Source  the measurement definitions of the appliance; the kernels there are the fast version of this
 */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr int kDimension = 64;
constexpr int kLanes = 16;
constexpr int kRows = 6;
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));

struct Affine {
  int multiplier, offset, open, extend;
};

struct Database {
  std::vector<float> values;
  std::vector<size_t> starts;
  std::vector<std::string> names;
  const float* row(size_t protein) const { return values.data() + starts[protein] * kDimension; }
  int length(size_t protein) const { return static_cast<int>(starts[protein + 1] - starts[protein]); }
};

/* Blocks of 16 query residues, component by component; the last residue fills the last block. */
struct PackedQuery {
  int length, blocks;
  std::vector<Vector> values;
  PackedQuery(const float* rows, int length_) : length(length_), blocks((length_ + kLanes - 1) / kLanes) {
    values.resize(static_cast<size_t>(blocks) * kDimension);
    for (int token = 0; token < blocks * kLanes; ++token)
      for (int k = 0; k < kDimension; ++k)
        values[token / kLanes * kDimension + k][token % kLanes] =
            rows[std::min(token, length - 1) * kDimension + k];
  }
};

/* Dot products of one query block with up to kRows target rows. */
template <int rows>
inline void dots(const Vector* block, const float* target, Vector* out) {
  Vector sums[rows] = {};
  for (int k = 0; k < kDimension; ++k)
    for (int r = 0; r < rows; ++r) sums[r] += block[k] * target[r * kDimension + k];
  for (int r = 0; r < rows; ++r) out[r] = sums[r];
}

template <typename Visit>
void visitDots(const PackedQuery& query, const float* target, int length, Visit visit) {
  Vector out[kRows];
  for (int first = 0; first < length; first += kRows) {
    const int count = std::min(kRows, length - first);
    for (int block = 0; block < query.blocks; ++block) {
      const Vector* values = query.values.data() + static_cast<size_t>(block) * kDimension;
      if (count == kRows) dots<kRows>(values, target + first * kDimension, out);
      else
        for (int r = 0; r < count; ++r) dots<1>(values, target + (first + r) * kDimension, out + r);
      visit(block, first, count, out);
    }
  }
}

inline void raise(Vector& best, const Vector& value) { best = value > best ? value : best; }

/* Mean of both directions' mean best dot product. */
double maxsim(const PackedQuery& query, const float* target, int length) {
  const Vector lowest = Vector{} - 1e9f;
  std::vector<Vector> closest(query.blocks, lowest), rowBest(length, lowest);
  visitDots(query, target, length, [&](int block, int first, int count, const Vector* out) {
    for (int r = 0; r < count; ++r) {
      raise(closest[block], out[r]);
      raise(rowBest[first + r], out[r]);
    }
  });
  double forward = 0, backward = 0;
  for (int i = 0; i < query.length; ++i) forward += closest[i / kLanes][i % kLanes];
  for (const Vector& row : rowBest) {
    float best = row[0];
    for (int lane = 1; lane < kLanes; ++lane) best = std::max(best, row[lane]);
    backward += best;
  }
  return 0.5 * (forward / query.length + backward / length);
}

/* Target residue by target residue; each column holds the best scores that end at each query residue. */
int affineScore(const std::vector<int>& cells, int queryLength, int stride, int targetLength,
                const Affine& affine) {
  std::vector<int> best(queryLength + 1, 0), gapInQuery(queryLength + 1, -1000000);
  int top = 0;
  for (int j = 0; j < targetLength; ++j) {
    const int* row = cells.data() + static_cast<size_t>(j) * stride;
    int diagonal = 0, gapInTarget = -1000000;
    for (int i = 1; i <= queryLength; ++i) {
      const int substitution = ((row[i - 1] * affine.multiplier) >> 16) - affine.offset;
      gapInQuery[i] = std::max(best[i] - affine.open, gapInQuery[i] - affine.extend);
      gapInTarget = std::max(best[i - 1] - affine.open, gapInTarget - affine.extend);
      const int value = std::max(std::max(diagonal + substitution, 0), std::max(gapInQuery[i], gapInTarget));
      diagonal = best[i];
      best[i] = value;
      top = std::max(top, value);
    }
  }
  return top;
}

std::vector<int> dotMatrix(const PackedQuery& query, const float* target, int length) {
  const int stride = query.blocks * kLanes;
  std::vector<int> cells(static_cast<size_t>(stride) * length);
  visitDots(query, target, length, [&](int block, int first, int count, const Vector* out) {
    for (int r = 0; r < count; ++r)
      for (int lane = 0; lane < kLanes; ++lane)
        cells[static_cast<size_t>(first + r) * stride + block * kLanes + lane] = std::lrint(out[r][lane]);
  });
  return cells;
}

Database load(const char* vectors, const char* lengths, const char* names) {
  Database database;
  std::ifstream lengthFile(lengths), nameFile(names), vectorFile(vectors, std::ios::binary);
  database.starts.push_back(0);
  for (size_t length; lengthFile >> length;) database.starts.push_back(database.starts.back() + length);
  for (std::string name; nameFile >> name;) database.names.push_back(name);
  database.values.resize(database.starts.back() * kDimension);
  vectorFile.read(reinterpret_cast<char*>(database.values.data()), database.values.size() * sizeof(float));
  if (!vectorFile || database.names.size() + 1 != database.starts.size()) {
    std::cerr << "rank_dev: vectors, lengths and names do not fit together\n";
    std::exit(1);
  }
  return database;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8 || (argc - 8) % 4 != 0) {
    std::cerr << "usage: rank_dev VECTORS LENGTHS NAMES QUERIES OUT KEPT RESCORED "
                 "[MULTIPLIER OFFSET OPEN EXTEND]...\n";
    return 2;
  }
  const Database database = load(argv[1], argv[2], argv[3]);
  std::ifstream queries(argv[4]);
  const std::string out = argv[5];
  const size_t kept = std::min<size_t>(std::atoi(argv[6]), database.names.size());
  const size_t rescored = std::min<size_t>(std::atoi(argv[7]), kept);
  std::vector<Affine> settings;
  for (int at = 8; at < argc; at += 4)
    settings.push_back(
        {std::atoi(argv[at]), std::atoi(argv[at + 1]), std::atoi(argv[at + 2]), std::atoi(argv[at + 3])});
  std::ofstream ranked(out + ".maxsim");
  std::vector<std::ofstream> aligned;
  for (size_t n = 0; n < settings.size(); ++n) aligned.emplace_back(out + ".affine" + std::to_string(n));

  for (size_t number; queries >> number;) {
    const PackedQuery query(database.row(number), database.length(number));
    std::vector<double> scores(database.names.size());
    for (size_t t = 0; t < scores.size(); ++t) scores[t] = maxsim(query, database.row(t), database.length(t));
    std::vector<size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                      [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    for (size_t rank = 0; rank < kept; ++rank) {
      const size_t t = order[rank];
      ranked << database.names[number] << '\t' << database.names[t] << '\t' << scores[t] / 29929 << '\n';
      if (rank >= rescored || settings.empty()) continue;
      const auto cells = dotMatrix(query, database.row(t), database.length(t));
      for (size_t n = 0; n < settings.size(); ++n) {
        const int stride = query.blocks * kLanes;
        const int score = affineScore(cells, query.length, stride, database.length(t), settings[n]);
        aligned[n] << database.names[number] << '\t' << database.names[t] << '\t' << score << '\n';
      }
    }
  }
}
