/* MaxSim with AMX's int8 tiles, and the detection of AMX. */
#include "amx/amx.h"

#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "amx/strips.h"

namespace gloaming {
namespace {

#if defined(__linux__)
/* Linux saves tile data, 8 KiB per thread, only for processes that have requested it. */
bool requestTileData() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM and the state's number
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#else
bool requestTileData() { return false; }
#endif

bool hasTiles() {
  constexpr uint32_t kTileBit = 1U << 24, kInt8Bit = 1U << 25;
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & kTileBit) != 0 && (edx & kInt8Bit) != 0;
}

}  // namespace

bool canUseTiles() {
  static const bool can = hasTiles() && requestTileData();
  return can;
}

size_t amxMaxsimPackedBytes(uint32_t length, uint32_t dimension) {
  return size_t{roundUp(length, kPairTokens)} * dimension;
}

void amxMaxsimPack(const Tokens& query, void* packed) { packPairs(query, static_cast<int8_t*>(packed)); }

int32_t amxMaxsimRows(const PackedQuery& query, const void* rows, uint32_t rowCount, int32_t* closest) {
  return maxsimRowsByTiles<Tiles>(query, static_cast<const int8_t*>(rows), rowCount, closest);
}

}  // namespace gloaming
