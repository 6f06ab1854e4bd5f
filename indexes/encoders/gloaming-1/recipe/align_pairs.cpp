/* Aligns pairs of homologous training proteins, with structural letters where both have them.
 *
 * usage   align_pairs SEQUENCES PAIRS LETTER_SCORES LETTER_WEIGHT RESIDUE_WEIGHT OPEN EXTEND > ALIGNMENTS
 * Input   SEQUENCES: id <tab> sequence <tab> letters ("-" if unknown); PAIRS: id <tab> id;
 *         LETTER_SCORES: 36 x 36 numbers in half bits, in the order "A..Z a..j" of the letters
 * Output  id, id, score, first positions (from 0), run-length alignment (M both, I first only, D second only)
 * Unit    scores in tenths of half bits, so that both terms can be weighted without rounding to nothing
 * Source  Smith & Waterman 1981 with affine gaps (Gotoh 1982); BLOSUM62 (Henikoff & Henikoff 1992)
 */
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

constexpr char kResidues[] = "ARNDCQEGHILKMFPSTWYV";
constexpr int kBlosum62[20][20] = {
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
    {0, -3, -3, -3, -1, -2, -2, -3, -3, 3, 1, -2, 1, -1, -2, -2, 0, -3, -1, 4}};

struct Protein {
  std::vector<int> residues;
  std::vector<int> letters;
};

struct Scores {
  std::array<std::array<int, 20>, 20> residue;
  std::array<std::array<int, 36>, 36> letter;
  int gapOpen;
  int gapExtend;
};

struct Alignment {
  int score = 0;
  int firstStart = 0;
  int secondStart = 0;
  std::string path;
};

int letterState(char letter) { return letter >= 'a' ? 26 + letter - 'a' : letter - 'A'; }

Protein parseProtein(const std::string& sequence, const std::string& letters) {
  Protein protein;
  const std::string alphabet(kResidues);
  for (char residue : sequence) {
    const auto at = alphabet.find(residue);
    protein.residues.push_back(at == std::string::npos ? -1 : static_cast<int>(at));
  }
  if (letters.size() == sequence.size()) {
    for (char letter : letters) protein.letters.push_back(letterState(letter));
  }
  return protein;
}

/* Scores of all cells at once, so that the alignment loop below reads one number a cell. */
std::vector<int> substitutionScores(const Protein& a, const Protein& b, const Scores& scores) {
  const size_t n = a.residues.size(), m = b.residues.size();
  const bool structural = !a.letters.empty() && !b.letters.empty();
  std::vector<int> cells(n * m);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < m; ++j) {
      const int x = a.residues[i], y = b.residues[j];
      int score = x < 0 || y < 0 ? 0 : structural ? scores.residue[x][y] : 10 * kBlosum62[x][y];
      if (structural) score += scores.letter[a.letters[i]][b.letters[j]];
      cells[i * m + j] = score;
    }
  }
  return cells;
}

std::string runLengths(const std::string& reversed) {
  std::string out;
  for (size_t at = reversed.size(); at > 0;) {
    const char kind = reversed[at - 1];
    size_t run = 0;
    while (at > 0 && reversed[at - 1] == kind) --at, ++run;
    out += std::to_string(run) + kind;
  }
  return out;
}

/* Trace bits: 0-1 source of the match state (0 start, 1 match, 2 first-only, 3 second-only);
 * 4 first-only gap extends, 8 second-only gap extends. */
Alignment align(const Protein& a, const Protein& b, const Scores& scores) {
  const int n = static_cast<int>(a.residues.size()), m = static_cast<int>(b.residues.size());
  const std::vector<int> cells = substitutionScores(a, b, scores);
  constexpr int kNever = -1000000;
  std::vector<int> best(m + 1, 0), firstOnly(m + 1, kNever);
  std::vector<uint8_t> trace(static_cast<size_t>(n + 1) * (m + 1), 0);
  Alignment result;
  int endI = 0, endJ = 0;
  for (int i = 1; i <= n; ++i) {
    int diagonal = 0, secondOnly = kNever;
    best[0] = 0;
    for (int j = 1; j <= m; ++j) {
      uint8_t bits = 0;
      const int openFirst = best[j] - scores.gapOpen, extendFirst = firstOnly[j] - scores.gapExtend;
      firstOnly[j] = std::max(openFirst, extendFirst);
      if (extendFirst > openFirst) bits |= 4;
      const int openSecond = best[j - 1] - scores.gapOpen, extendSecond = secondOnly - scores.gapExtend;
      secondOnly = std::max(openSecond, extendSecond);
      if (extendSecond > openSecond) bits |= 8;
      int value = diagonal + cells[static_cast<size_t>(i - 1) * m + j - 1];
      uint8_t source = 1;
      if (firstOnly[j] > value) value = firstOnly[j], source = 2;
      if (secondOnly > value) value = secondOnly, source = 3;
      if (value <= 0) value = 0, source = 0;
      diagonal = best[j];
      best[j] = value;
      trace[static_cast<size_t>(i) * (m + 1) + j] = bits | source;
      if (value > result.score) result.score = value, endI = i, endJ = j;
    }
  }
  std::string reversed;
  int i = endI, j = endJ, state = 0;
  while (i > 0 && j > 0) {
    const uint8_t bits = trace[static_cast<size_t>(i) * (m + 1) + j];
    if (state == 0) {
      state = bits & 3;
      if (state == 0) break;
    }
    if (state == 1) reversed += 'M', --i, --j, state = 0;
    else if (state == 2) reversed += 'I', --i, state = bits & 4 ? 2 : 0;
    else reversed += 'D', --j, state = bits & 8 ? 3 : 0;
  }
  result.firstStart = i;
  result.secondStart = j;
  result.path = runLengths(reversed);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::cerr << "usage: align_pairs SEQUENCES PAIRS LETTER_SCORES LETTER_WEIGHT RESIDUE_WEIGHT OPEN "
                 "EXTEND\n";
    return 2;
  }
  Scores scores;
  std::ifstream letterFile(argv[3]);
  for (auto& row : scores.letter)
    for (int& cell : row) {
      double value = 0;
      letterFile >> value;
      cell = static_cast<int>(10 * value * std::atof(argv[4]));
    }
  for (int x = 0; x < 20; ++x)
    for (int y = 0; y < 20; ++y)
      scores.residue[x][y] = static_cast<int>(10 * kBlosum62[x][y] * std::atof(argv[5]));
  scores.gapOpen = static_cast<int>(10 * std::atof(argv[6]));
  scores.gapExtend = static_cast<int>(10 * std::atof(argv[7]));

  std::unordered_map<std::string, Protein> proteins;
  std::ifstream sequences(argv[1]), pairs(argv[2]);
  std::string id, other, sequence, letters;
  while (sequences >> id >> sequence >> letters) proteins.emplace(id, parseProtein(sequence, letters));
  while (pairs >> id >> other) {
    const Alignment found = align(proteins.at(id), proteins.at(other), scores);
    std::cout << id << '\t' << other << '\t' << found.score << '\t' << found.firstStart << '\t'
              << found.secondStart << '\t' << found.path << '\n';
  }
}
