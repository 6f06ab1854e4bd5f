/* Compares the cases of corpus.txt, then random cases, with the reference.
 *
 *   kernels-fuzz corpus.txt [seconds] [seed]
 *
 * A failing case is printed as one line. Add it to corpus.txt when the bug is fixed. */
#include <chrono>

#include "test/case.h"
#include "test/coded_case.h"
#include "test/kmer_case.h"

namespace gloaming {
namespace {

/* Draws a length, mostly near the edges of vectors, strips and row blocks. */
uint32_t edgyLength(Random& random) {
  constexpr uint32_t edges[] = {1, 8, 16, 32, 48, 64, 128, 256, 512};
  const uint32_t edge = edges[below(random, 9)], shift = below(random, 5);
  if (below(random, 3) == 0) return 1 + below(random, 600);
  return edge + shift > 2 ? edge + shift - 2 : 1;
}

Case randomCase(Random& random) {
  const int32_t gapOpen = static_cast<int32_t>(below(random, 2) == 0 ? below(random, 40) : below(random, 4'096));
  const bool isSteep = below(random, 3) == 0;
  return {random(),
          32 * (1 + below(random, 8)),
          edgyLength(random),
          edgyLength(random),
          below(random, static_cast<uint32_t>(Kind::kCount)),
          {static_cast<int32_t>(1 + below(random, isSteep ? 32'767 : 2'000)),
           static_cast<int32_t>(below(random, isSteep ? 49'152 : 60)) - (isSteep ? 16'384 : 20), gapOpen,
           static_cast<int32_t>(below(random, static_cast<uint32_t>(gapOpen) + 1))}};
}

uint32_t replay(const char* path) {
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) {
    std::fprintf(stderr, "kernels-fuzz: no corpus at %s\n", path);
    std::exit(1);
  }
  uint32_t count = 0;
  unsigned long long seed = 0;
  Case c{};
  AffineParameters& p = c.parameters;
  while (std::fscanf(file, Case::kFormat, &seed, &c.dimension, &c.queryLength, &c.targetLength, &c.kind, &p.multiplier,
                     &p.offset, &p.gapOpen, &p.gapExtend) == 9) {
    c.seed = seed;
    checkCase(c);
    ++count;
  }
  std::fclose(file);
  return count;
}

}  // namespace
}  // namespace gloaming

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  if (argc < 2) {
    std::fprintf(stderr, "usage: kernels-fuzz corpus.txt [seconds] [seed]\n");
    return 2;
  }
  const auto end = Clock::now() + std::chrono::seconds(argc > 2 ? std::atoi(argv[2]) : 60);
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10)
                                 : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  std::printf("kernels-fuzz: %u cases of the corpus agree; seed %llu\n", gloaming::replay(argv[1]),
              static_cast<unsigned long long>(seed));
  gloaming::Random random(seed);
  uint32_t count = 0;
  for (; Clock::now() < end; ++count) {
    gloaming::checkCase(gloaming::randomCase(random));
    if (count % 16 == 0) gloaming::checkCoded(random(), gloaming::edgyLength(random));
    if (count % 16 == 8) gloaming::checkKmers(random());
  }
  std::printf("kernels-fuzz: %u random cases agree\n", count);
  return 0;
}
