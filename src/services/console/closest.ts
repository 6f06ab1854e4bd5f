import { openTokenReader } from '../../release/rows/token-reader.js';
import { Refusal } from '../../errors.js';
import type { QueryTokens } from '../../kernels/kernels.js';
import { Slice } from '../../turns.js';
import type { Catalog } from '../search/catalog.js';
import type { Engines } from '../../engine/engines.js';
import { readProteinQuery } from '../search/protein-query.js';

export interface ClosestRequest {
  readonly database_release_id: string;
  readonly target_id: string;
  readonly sequence: string;
}

/** For each residue of one side, the residue of the other whose vector is closest. */
export interface ClosestSide {
  /** Zero-based positions on the other side; the first of equally close ones. */
  readonly closest: readonly number[];
  /** Cosine of each pair, to three decimals. */
  readonly cosine: readonly number[];
}

/** Closest residues of both sides, whose cosines average to the proteins' distance. Wire names of an internal page. */
export interface ClosestResidues {
  readonly query_length: number;
  readonly target_length: number;
  readonly query_to_target: ClosestSide;
  readonly target_to_query: ClosestSide;
  /** Cosines of all pairs, row by query residue: one byte each, 0 for −1 and 255 for 1, in base64. */
  readonly matrix?: string;
}

/** Largest number of compared pairs of residues: half a second of one core, in slices. */
const PAIRS_MAX_COUNT = 4_000_000;
/** Largest number of pairs for which the whole matrix is returned. */
const MATRIX_MAX_PAIRS = 1_000_000;

/**
 * Finds the closest residues of two proteins.
 * Cost    pairs × dimension multiply-adds, in slices of the event loop
 * Errors  Refusal `release_not_found`, `permission_denied`, those of the query; `validation_failed` for a target that
 *         the release lacks, or too many pairs; Faults of files and encoder
 */
export async function closestResidues(
  { database_release_id: releaseId, target_id: targetId, sequence }: ClosestRequest,
  organizationId: string,
  signal: AbortSignal,
  { catalog, engines }: { readonly catalog: Catalog; readonly engines: Engines },
): Promise<ClosestResidues> {
  const query = readProteinQuery(sequence);
  catalog.release(releaseId, organizationId);
  const { release, encoder } = await engines.open(releaseId);
  const target = release.targets.find(targetId);
  if (target === undefined) {
    throw new Refusal('validation_failed', 'The release has no target of that id.', { param: 'target_id' });
  }
  if (query.sequence.length * release.targets.length(target) > PAIRS_MAX_COUNT) {
    throw new Refusal(
      'validation_failed',
      `The two proteins have more than ${PAIRS_MAX_COUNT.toLocaleString('en')} pairs of residues.`,
    );
  }
  const [tokens] = await encoder.encode([query.sequence], { signal });
  const reader = await openTokenReader(release);
  try {
    const cosines = await compareAll(tokens, await reader.read(target), encoder.card.inverse_step, signal);
    return present(cosines, tokens.length, release.targets.length(target));
  } finally {
    await reader.close();
  }
}

/** Row by query residue. Unit  cosines */
async function compareAll(
  query: QueryTokens,
  target: QueryTokens,
  inverseStep: number,
  signal: AbortSignal,
): Promise<Float32Array> {
  const dimension = query.values.length / query.length;
  const cosines = new Float32Array(query.length * target.length);
  const slice = new Slice();
  for (let row = 0; row < query.length; row += 1) {
    for (let column = 0; column < target.length; column += 1) {
      let dot = 0;
      const [left, right] = [row * dimension, column * dimension];
      for (let at = 0; at < dimension; at += 1) dot += query.values[left + at] * target.values[right + at];
      cosines[row * target.length + column] = dot / (inverseStep * inverseStep);
    }
    if (slice.isOver) await slice.pause();
    signal.throwIfAborted();
  }
  return cosines;
}

function present(cosines: Float32Array, queryLength: number, targetLength: number): ClosestResidues {
  const at = (row: number, column: number): number => cosines[row * targetLength + column];
  const bytes = (): Buffer =>
    Buffer.from(
      Uint8Array.from(cosines, (cosine) => Math.max(0, Math.min(255, Math.round(127.5 * (cosine + 1))))),
    );
  return {
    query_length: queryLength,
    target_length: targetLength,
    query_to_target: closestOf(queryLength, targetLength, at),
    target_to_query: closestOf(targetLength, queryLength, (row, column) => at(column, row)),
    ...(cosines.length <= MATRIX_MAX_PAIRS && { matrix: bytes().toString('base64') }),
  };
}

function closestOf(
  length: number,
  otherLength: number,
  cosineAt: (own: number, other: number) => number,
): ClosestSide {
  const closest: number[] = [];
  const cosine: number[] = [];
  for (let own = 0; own < length; own += 1) {
    let best = 0;
    for (let other = 1; other < otherLength; other += 1) {
      if (cosineAt(own, other) > cosineAt(own, best)) best = other;
    }
    closest.push(best);
    cosine.push(Math.round(cosineAt(own, best) * 1000) / 1000);
  }
  return { closest, cosine };
}
