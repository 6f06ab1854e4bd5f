/* Ranks all targets for each query by bidirectional MaxSim, then the best of them by affine alignment score.
 *
 * usage   rank_dev [-p PROFILES] [-c CANDIDATES] VECTORS LENGTHS NAMES QUERIES OUT KEPT RESCORED
 *                  [MULTIPLIER OFFSET OPEN EXTEND]...
 * Input   VECTORS: float32 [residues x DIMENSION], 64 unless built with another; whole numbers within -127..127
 *         stand for int8, are exact and take the processor's int8 instructions where it has them;
 *         PROFILES: float32 [residues x 20], frequencies over square roots of the background's: the alignment
 *         scores 30 times the logarithm of two profiles' dot product beside the vectors;
 *         CANDIDATES: query <tab> target ...: only these targets are ranked, a ninth of the work for 1,000 a query;
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
#include <unordered_map>
#include <vector>

#ifdef __AVX512VNNI__
#include <immintrin.h>
#endif

namespace {

#ifndef DIMENSION
#define DIMENSION 64
#endif

constexpr int kDimension = DIMENSION;
constexpr int kKinds = 20;
constexpr float kNat = 30;
constexpr int kLanes = 16;
constexpr int kRows = 6;
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef int Integers __attribute__((vector_size(kLanes * sizeof(int))));

struct Affine {
  int multiplier, offset, open, extend;
};

/* A protein's rows, as bytes too where they are whole. A correction takes off what biasing the query adds. */
struct Target {
  const float* row;
  const int8_t* bytes;
  const int* corrections;
  int length;
};

struct Database {
  std::vector<float> values;
  std::vector<float> profiles;
  std::vector<int8_t> bytes;  // empty, like the corrections, if the values are not whole
  std::vector<int> corrections;
  std::vector<size_t> starts;
  std::vector<std::string> names;
  const float* row(size_t protein) const { return values.data() + starts[protein] * kDimension; }
  Target target(size_t protein) const {
    const size_t start = starts[protein];
    const bool whole = !bytes.empty();
    return {row(protein), whole ? bytes.data() + start * kDimension : nullptr,
            whole ? corrections.data() + start : nullptr, length(protein)};
  }
  int length(size_t protein) const { return static_cast<int>(starts[protein + 1] - starts[protein]); }
};

/* Blocks of 16 query residues, component by component; the last residue fills the last block. `biased` holds
 * the same as unsigned bytes (128 more), four components of 16 residues after one another. */
struct PackedQuery {
  int length, blocks;
  std::vector<Vector> values;
  std::vector<uint8_t> biased;
  PackedQuery(const float* rows, int length_) : length(length_), blocks((length_ + kLanes - 1) / kLanes) {
    values.resize(static_cast<size_t>(blocks) * kDimension);
    biased.resize(values.size() * kLanes);
    for (int token = 0; token < blocks * kLanes; ++token) {
      for (int k = 0; k < kDimension; ++k) {
        const float value = rows[std::min(token, length - 1) * kDimension + k];
        const size_t block = static_cast<size_t>(token / kLanes) * kDimension;
        values[block + k][token % kLanes] = value;
        biased[(block + k / 4 * 4) * kLanes + token % kLanes * 4 + k % 4] = static_cast<uint8_t>(value + 128);
      }
    }
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

#ifdef __AVX512VNNI__
template <int rows>
inline void byteDots(const uint8_t* block, const int8_t* target, const int* corrections, Vector* out) {
  __m512i sums[rows];
  for (int r = 0; r < rows; ++r) sums[r] = _mm512_set1_epi32(corrections[r]);
  for (int quad = 0; quad < kDimension / 4; ++quad) {
    const __m512i query = _mm512_loadu_si512(block + quad * 4 * kLanes);
    for (int r = 0; r < rows; ++r) {
      int four;
      __builtin_memcpy(&four, target + r * kDimension + quad * 4, sizeof four);
      sums[r] = _mm512_dpbusd_epi32(sums[r], query, _mm512_set1_epi32(four));
    }
  }
  for (int r = 0; r < rows; ++r) {
    Integers whole;
    __builtin_memcpy(&whole, &sums[r], sizeof whole);
    out[r] = __builtin_convertvector(whole, Vector);
  }
}
#endif

/* Rows inside, blocks outside: a few target rows stay in registers while the query streams past. */
template <typename Visit>
void visitDots(const PackedQuery& query, const Target& target, Visit visit) {
  Vector out[kRows];
  for (int first = 0; first < target.length; first += kRows) {
    const int count = std::min(kRows, target.length - first);
    for (int block = 0; block < query.blocks; ++block) {
      const size_t at = static_cast<size_t>(block) * kDimension;
#ifdef __AVX512VNNI__
      if (target.bytes != nullptr) {
        const int8_t* rows = target.bytes + first * kDimension;
        const uint8_t* values = query.biased.data() + at * kLanes;
        const int* corrections = target.corrections + first;
        if (count == kRows) byteDots<kRows>(values, rows, corrections, out);
        else
          for (int r = 0; r < count; ++r)
            byteDots<1>(values, rows + r * kDimension, corrections + r, out + r);
        visit(block, first, count, out);
        continue;
      }
#endif
      const float* rows = target.row + first * kDimension;
      if (count == kRows) dots<kRows>(query.values.data() + at, rows, out);
      else
        for (int r = 0; r < count; ++r) dots<1>(query.values.data() + at, rows + r * kDimension, out + r);
      visit(block, first, count, out);
    }
  }
}

inline void raise(Vector& best, const Vector& value) { best = value > best ? value : best; }

/* Mean of both directions' mean best dot product. */
double maxsim(const PackedQuery& query, const Target& target) {
  const Vector lowest = Vector{} - 1e9f;
  std::vector<Vector> closest(query.blocks, lowest), rowBest(target.length, lowest);
  visitDots(query, target, [&](int block, int first, int count, const Vector* out) {
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
  return 0.5 * (forward / query.length + backward / target.length);
}

/* Target residue by target residue; each column holds the best scores that end at each query residue. */
int affineScore(const std::vector<int>& cells, const std::vector<int>& profileCells, int queryLength,
                int stride, int targetLength, const Affine affine) {
  std::vector<int> columns(2 * queryLength, 0), substitutions(queryLength);
  int* __restrict best = columns.data();
  int* __restrict gapInQuery = best + queryLength;
  int* __restrict substitution = substitutions.data();
  std::fill_n(gapInQuery, queryLength, -1000000);
  int top = 0;
  for (int j = 0; j < targetLength; ++j) {
    const int* __restrict row = cells.data() + static_cast<size_t>(j) * stride;
    for (int i = 0; i < queryLength; ++i)
      substitution[i] = ((row[i] * affine.multiplier) >> 16) - affine.offset;
    if (!profileCells.empty()) {
      const int* __restrict more = profileCells.data() + static_cast<size_t>(j) * stride;
      for (int i = 0; i < queryLength; ++i) substitution[i] += more[i];
    }
    int diagonal = 0, gapInTarget = -1000000;
    for (int i = 0; i < queryLength; ++i) {
      gapInQuery[i] = std::max(best[i] - affine.open, gapInQuery[i] - affine.extend);
      const int without = std::max(std::max(diagonal + substitution[i], 0), gapInQuery[i]);
      const int value = std::max(without, gapInTarget);
      gapInTarget = std::max(value - affine.open, gapInTarget - affine.extend);
      diagonal = best[i];
      best[i] = value;
      top = std::max(top, value);
    }
  }
  return top;
}

std::vector<int> dotMatrix(const PackedQuery& query, const Target& target) {
  const int stride = query.blocks * kLanes;
  std::vector<int> cells(static_cast<size_t>(stride) * target.length);
  visitDots(query, target, [&](int block, int first, int count, const Vector* out) {
    for (int r = 0; r < count; ++r) {
      const Integers whole = __builtin_convertvector(out[r], Integers);
      const size_t at = static_cast<size_t>(first + r) * stride + block * kLanes;
      __builtin_memcpy(&cells[at], &whole, sizeof whole);
    }
  });
  return cells;
}

/* Points of the profiles in each cell of such a matrix; none where there are no profiles. */
std::vector<int> profileMatrix(const Database& database, size_t query, size_t target, int stride) {
  if (database.profiles.empty()) return {};
  const int queryLength = database.length(query), targetLength = database.length(target);
  const float* __restrict queryRows = database.profiles.data() + database.starts[query] * kKinds;
  const float* __restrict targetRows = database.profiles.data() + database.starts[target] * kKinds;
  std::vector<int> cells(static_cast<size_t>(stride) * targetLength);
  std::vector<float> columns(static_cast<size_t>(kKinds) * queryLength), sums(queryLength);
  for (int i = 0; i < queryLength; ++i)
    for (int kind = 0; kind < kKinds; ++kind) columns[kind * queryLength + i] = queryRows[i * kKinds + kind];
  for (int j = 0; j < targetLength; ++j) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int kind = 0; kind < kKinds; ++kind)
      for (int i = 0; i < queryLength; ++i)
        sums[i] += columns[kind * queryLength + i] * targetRows[j * kKinds + kind];
    int* __restrict row = cells.data() + static_cast<size_t>(j) * stride;
    for (int i = 0; i < queryLength; ++i)
      row[i] = static_cast<int>(std::floor(kNat * std::log(std::max(sums[i], 1e-4f)) + 0.5f));
  }
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
  const auto isByte = [](float value) { return value == std::rint(value) && value >= -127 && value <= 127; };
  if (!std::all_of(database.values.begin(), database.values.end(), isByte)) return database;
  database.bytes.assign(database.values.begin(), database.values.end());
  for (auto row = database.bytes.begin(); row != database.bytes.end(); row += kDimension)
    database.corrections.push_back(-128 * std::accumulate(row, row + kDimension, 0));
  return database;
}

void loadProfiles(Database& database, const char* path) {
  database.profiles.resize(database.starts.back() * kKinds);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(database.profiles.data()), database.profiles.size() * sizeof(float));
  if (!file) {
    std::cerr << "rank_dev: the profiles do not fit the vectors\n";
    std::exit(1);
  }
}

/* Numbers of the targets of each query. */
std::vector<std::vector<size_t>> loadCandidates(const Database& database, const char* path) {
  std::unordered_map<std::string, size_t> numbers;
  for (size_t number = 0; number < database.names.size(); ++number) numbers[database.names[number]] = number;
  std::vector<std::vector<size_t>> candidates(database.names.size());
  std::ifstream file(path);
  for (std::string query, target, rest; file >> query >> target; std::getline(file, rest))
    candidates[numbers.at(query)].push_back(numbers.at(target));
  return candidates;
}

}  // namespace

int main(int argc, char** argv) {
  const char *profiles = nullptr, *chosen = nullptr;
  for (; argc > 2 && argv[1][0] == '-'; argc -= 2, argv += 2)
    (argv[1][1] == 'p' ? profiles : chosen) = argv[2];
  if (argc < 8 || (argc - 8) % 4 != 0) {
    std::cerr << "usage: rank_dev [-p PROFILES] [-c CANDIDATES] VECTORS LENGTHS NAMES QUERIES OUT KEPT "
                 "RESCORED [MULTIPLIER OFFSET OPEN EXTEND]...\n";
    return 2;
  }
  Database database = load(argv[1], argv[2], argv[3]);
  if (profiles != nullptr) loadProfiles(database, profiles);
  std::vector<std::vector<size_t>> candidates;
  if (chosen != nullptr) candidates = loadCandidates(database, chosen);
  std::vector<size_t> all(database.names.size());
  std::iota(all.begin(), all.end(), 0);
  std::ifstream queries(argv[4]);
  const std::string out = argv[5];
  const size_t most = std::atoi(argv[6]), rescored = std::atoi(argv[7]);
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
    std::vector<size_t> order = candidates.empty() ? all : candidates[number];
    for (const size_t t : order) scores[t] = maxsim(query, database.target(t));
    const size_t kept = std::min(most, order.size());
    std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                      [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    for (size_t rank = 0; rank < kept; ++rank) {
      const size_t t = order[rank];
      ranked << database.names[number] << '\t' << database.names[t] << '\t' << scores[t] / 29929 << '\n';
      if (rank >= rescored || settings.empty()) continue;
      const int stride = query.blocks * kLanes;
      const auto cells = dotMatrix(query, database.target(t));
      const auto profileCells = profileMatrix(database, number, t, stride);
      for (size_t n = 0; n < settings.size(); ++n) {
        const int score = affineScore(cells, profileCells, query.length, stride, database.length(t), settings[n]);
        aligned[n] << database.names[number] << '\t' << database.names[t] << '\t' << score << '\n';
      }
    }
  }
}
