#include "avx512/avx512.h"
#include "kmers.h"

namespace gloaming {

void avx512KmerRows(const KmerTable& table, const uint8_t* letters, uint32_t count, uint32_t first, Stretch* stretches,
                    uint32_t* best) {
  lookUpKmers(table, letters, count, first, stretches, best);
}

}  // namespace gloaming
