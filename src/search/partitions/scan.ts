import {
  PROFILE_WIDTH,
  type KernelBackend,
  type KernelOptions,
  type RowSource,
  type TokenStore,
} from '../../kernels/kernels.js';
import type { Release, TargetSpace } from '../../release/release.js';
import { batchSizeByPairs } from '../batches.js';
import { encode, stretchesOf } from '../encode.js';
import { planSearch } from '../plan.js';
import { tokensSha256 } from '../seal.js';
import type {
  EncodedQuery,
  PartialScan,
  PartialSums,
  ProteinQuery,
  SearchEngine,
  SearchPlan,
  SearchSettings,
} from '../search-types.js';

/** Consecutive targets of a release, one partition: the first index, and the index after the last. */
export interface TargetRange {
  readonly from: number;
  readonly to: number;
}

/** Result of one query for one partition: exact sums of the targets that can be among the best of the release. */
export interface PartialResult extends PartialSums {
  /** Digest of the tokens that were compared. Partial results of different tokens are not merged. */
  readonly queryTokensSha256: string;
}

/**
 * Divides a release's targets into ranges of about equal residue counts. The ranges depend on the lengths of the
 * targets only. A range may be empty.
 */
export function targetRanges(
  { tokens: { residueStarts } }: Pick<Release, 'tokens'>,
  count: number,
): readonly TargetRange[] {
  const targetCount = residueStarts.length - 1;
  const residues = residueStarts[targetCount];
  const startOf = (partition: number): number =>
    partition === count ? targetCount : firstFrom(residueStarts, (partition * residues) / count);
  return Array.from({ length: count }, (_, partition) => ({
    from: startOf(partition),
    to: startOf(partition + 1),
  }));
}

/** Index of the first of ascending values that is at least `least`. */
function firstFrom(values: Uint32Array, least: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Opens a store with the tokens of one range only.
 * Errors  those of the backend
 */
export function openRange(
  { tokens: source }: Pick<Release, 'tokens'>,
  backend: Pick<KernelBackend, 'open'>,
  { from, to }: TargetRange,
): Promise<TokenStore> {
  const { dimension, tokens, profiles, residueStarts } = source;
  const first = residueStarts[from];
  return backend.open({
    dimension,
    residueStarts: residueStarts.slice(from, to + 1).map((start) => start - first),
    tokens: rowsFrom(tokens, first * dimension),
    profiles: profiles && rowsFrom(profiles, first * PROFILE_WIDTH),
  });
}

function rowsFrom(rows: RowSource, bytes: number): RowSource {
  if ('values' in rows) return { values: rows.values.subarray(bytes) };
  return { path: rows.path, byteOffset: rows.byteOffset + bytes };
}

/**
 * Compares each query with the eligible targets of one range, by the policy that answers for the whole release.
 * Errors  Fault of encoder or kernels; the signal's reason
 * @param engine  with the store of this range (`openRange`), or of all targets
 */
export async function scanRange(
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  range: TargetRange,
  engine: SearchEngine,
  signal?: AbortSignal,
  plan: Pick<SearchPlan, 'partial'> = planSearch(engine, settings),
): Promise<readonly PartialResult[]> {
  const { threads, isLowPriority } = engine;
  const stretches = stretchesOf(queries, settings.queryRange);
  const encoded = await encode(stretches, settings, engine, { signal });
  const options = { signal, threads, isLowPriority };
  return scanEncoded(encoded, { ...settings, partial: plan.partial }, range, engine, options);
}

/** Settings of a partial result, besides queries, release and range. */
export interface PartialResultSettings extends Pick<SearchSettings, 'targetSpace'> {
  readonly partial: PartialScan;
}

/**
 * Compares encoded queries with the eligible targets of one range.
 * Errors  Fault of the kernels; the signal's reason
 */
export async function scanEncoded(
  queries: readonly EncodedQuery[],
  { targetSpace, partial }: PartialResultSettings,
  range: TargetRange,
  engine: Pick<SearchEngine, 'release' | 'backend' | 'store'>,
  options: KernelOptions,
): Promise<readonly PartialResult[]> {
  const { release, store } = engine;
  const eligible = eligibleIn(targetSpace, range);
  const storeFrom = store.targetCount === release.targets.count ? 0 : range.from;
  const targets = eligible ?? everyTarget(range);
  const isWholeStore = eligible === undefined && targets.length === store.targetCount;
  const inPartition = {
    storeFrom,
    targets,
    inStore: isWholeStore ? undefined : lessFrom(targets, storeFrom),
  };
  const { dimension } = release.manifest.encoder;
  const tokens = queries.map((query) => query.tokens);
  const size = batchSizeByPairs(targets.length);
  const partialResults: PartialResult[] = [];
  for (let start = 0; start < tokens.length; start += size) {
    const batch = tokens.slice(start, start + size);
    for (const [index, sums] of (await partial.scan(batch, inPartition, engine, options)).entries()) {
      partialResults.push({ ...sums, queryTokensSha256: tokensSha256(batch[index], dimension) });
    }
  }
  return partialResults;
}

function everyTarget({ from, to }: TargetRange): Uint32Array {
  const targets = new Uint32Array(to - from);
  for (let place = 0; place < targets.length; place += 1) targets[place] = from + place;
  return targets;
}

function lessFrom(targets: Uint32Array, from: number): Uint32Array {
  return from === 0 ? targets : targets.map((target) => target - from);
}

/**
 * Eligible targets of a range; undefined if all targets of the range are eligible.
 * Shape   at most as many elements as the range has targets
 * Unit    target indices of the release
 * Range   ascending
 */
export function eligibleIn(
  { eligible }: Pick<TargetSpace, 'eligible'>,
  { from, to }: TargetRange,
): Uint32Array | undefined {
  return eligible?.slice(firstFrom(eligible, from), firstFrom(eligible, to));
}
