import { canonicalJson } from '../../canonical.js';
import type { NeighbourGraph } from '../../neighbours/graph.js';
import type { Release, ReleaseManifest, TargetSpace } from '../../release/release.js';
import { openTokenReader, type TokenReader } from '../../release/rows/token-reader.js';

/** Neighbours of an earlier release's targets, in the order of a release that extends it. */
export interface EarlierRows {
  /** Targets that the earlier release does not have, or has with other tokens. */
  readonly added: TargetSpace;
  /**
   * Neighbours that a target had; undefined where its row has to be computed in full. That is an added target, one
   * without neighbours, and one whose row had the most neighbours and has lost one, because its next neighbour is not
   * known.
   */
  keptOf(target: number): KeptNeighbours | undefined;
}

/** Shape  [neighbours] each. Unit  indices in the new release; log E-values in the earlier one */
export interface KeptNeighbours {
  readonly targets: readonly number[];
  readonly logEValues: readonly number[];
}

/** Whether both releases measure a pair of equal proteins alike. */
export function isMeasuredAlike(a: ReleaseManifest, b: ReleaseManifest): boolean {
  return a.encoder.sha256 === b.encoder.sha256 && canonicalJson(a.affine) === canonicalJson(b.affine);
}

/**
 * Maps the rows of an earlier release's graph to a release. A target is unchanged if its id, its residues and its
 * tokens are the same.
 * @param limit  most neighbours of a row of the graph
 * Errors  Fault where a token file ends early
 */
export async function mapEarlierRows(
  release: Release,
  earlier: Release,
  { offsets, targets, logEValues }: NeighbourGraph,
  limit: number,
): Promise<EarlierRows> {
  const earlierOf = await unchangedTargets(release, earlier);
  const nowOf = new Int32Array(earlier.targets.count).fill(-1);
  earlierOf.forEach((before, target) => {
    if (before >= 0) nowOf[before] = target;
  });
  const added = Uint32Array.from(Array.from(earlierOf.keys()).filter((target) => earlierOf[target] < 0));
  return {
    added: spaceOf(release, added),
    keptOf(target) {
      const before = earlierOf[target];
      if (before < 0) return undefined;
      const [start, end] = [offsets[before], offsets[before + 1]];
      const edges = Array.from({ length: end - start }, (_, at) => start + at);
      const kept = edges.filter((edge) => nowOf[targets[edge]] >= 0);
      if (kept.length === 0 || (edges.length === limit && kept.length < limit)) return undefined;
      return {
        targets: kept.map((edge) => nowOf[targets[edge]]),
        logEValues: kept.map((edge) => logEValues[edge]),
      };
    },
  };
}

/** Index of each target in the earlier release; −1 where it is added or changed. Shape  [targets] */
async function unchangedTargets(release: Release, earlier: Release): Promise<Int32Array> {
  const found = new Int32Array(release.targets.count).fill(-1);
  for (let target = 0; target < found.length; target += 1) {
    const before = earlier.targets.find(release.targets.id(target));
    if (before === undefined) continue;
    if (earlier.targets.sequence(before) === release.targets.sequence(target)) found[target] = before;
  }
  if (isTokenOfSequence(release.manifest) && isTokenOfSequence(earlier.manifest)) return found;
  const readers = [await openTokenReader(release), await openTokenReader(earlier)] as const;
  try {
    for (let target = 0; target < found.length; target += 1) {
      if (found[target] >= 0 && !(await areEqual(readers, target, found[target]))) found[target] = -1;
    }
  } finally {
    for (const reader of readers) await reader.close();
  }
  return found;
}

/** Whether an encoder alone made the tokens, so that equal sequences have equal ones. */
function isTokenOfSequence({ relatives: homologs, embeddings }: ReleaseManifest): boolean {
  return homologs === undefined && embeddings === undefined;
}

async function areEqual(
  [reader, earlierReader]: readonly [TokenReader, TokenReader],
  target: number,
  before: number,
): Promise<boolean> {
  const [now, then] = await Promise.all([reader.read(target), earlierReader.read(before)]);
  return (
    Buffer.from(now.values).equals(Buffer.from(then.values)) &&
    Buffer.from(now.profile ?? []).equals(Buffer.from(then.profile ?? [])) &&
    now.effectiveSequences === then.effectiveSequences
  );
}

function spaceOf(release: Release, eligible: Uint32Array): TargetSpace {
  let searchedResidueCount = 0;
  for (const target of eligible) searchedResidueCount += release.targets.length(target);
  return Object.freeze({
    releaseId: release.id,
    eligible,
    searchedTargetCount: eligible.length,
    searchedResidueCount,
  });
}
