import {
  PROFILE_WIDTH,
  type KernelBackend,
  type KernelOptions,
  type QueryTokens,
  type RowSource,
  type TokenStore,
} from '../../kernels/kernels.js';
import { BATCH_PACK_MAX_PAIRS } from '../../limits.js';
import type { Release, TargetSpace } from '../../release/release.js';
import { encode } from '../encode.js';
import { resolvePolicy } from '../policy.js';
import { rank } from '../rank.js';
import {
  ascending,
  bestOf,
  excessFloor,
  isMeasuredWhole,
  prefilterCountsOf,
} from '../prefilter/rescore-candidates.js';
import { COARSE_ROWS, sampleTokens } from '../prefilter/sampling.js';
import { tokensSha256 } from '../seal.js';
import type {
  EncodedQuery,
  RescoreCounts,
  ProteinQuery,
  SearchEngine,
  SearchSettings,
} from '../search-types.js';

/** Targets of a release that follow each other: the first, and the one after the last. */
export interface TargetRange {
  readonly from: number;
  readonly to: number;
}

/**
 * What a part of the targets has to say of one query: the exact sums of those that could be among the best of all,
 * which are the best of the part.
 * Order  targets ascend
 */
export interface PartialResult {
  readonly targets: Uint32Array;
  readonly queryToTarget: Int32Array;
  readonly targetToQuery: Int32Array;
  /** Where the sampled policy looks: its sums are of a few rows of the query only. */
  readonly queryExcess?: Int32Array;
  /** Of what the sums are: parts that have encoded the query differently are not put together. */
  readonly queryTokensSha256: string;
}

/**
 * Divides a release's targets into ranges of about as many residues: a function of their lengths and nothing else. A
 * range may be empty.
 */
export function targetRanges(
  { tokens: { residueStarts } }: Pick<Release, 'tokens'>,
  count: number,
): readonly TargetRange[] {
  const targetCount = residueStarts.length - 1;
  const residues = residueStarts[targetCount];
  const startOf = (part: number): number =>
    part === count ? targetCount : firstFrom(residueStarts, (part * residues) / count);
  return Array.from({ length: count }, (_, part) => ({ from: startOf(part), to: startOf(part + 1) }));
}

/** The place of the first of ascending values that is at least this one. */
function firstFrom(values: Uint32Array, least: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Opens the tokens of one range and no others. Errors  those of the backend */
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
 * @param engine  with the store of this range (`openRange`), or of all targets
 * Errors  Fault of encoder or kernels; the signal's reason
 */
export async function scanRange(
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  range: TargetRange,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly PartialResult[]> {
  const { threads, isLowPriority } = engine;
  const { sampled } = resolvePolicy(engine, settings);
  const encoded = await encode(queries, settings, engine, { signal });
  return scanEncoded(encoded, { ...settings, sampled }, range, engine, { signal, threads, isLowPriority });
}

/** What a survey depends on besides queries, release and range. */
export interface PartialResultSettings extends Pick<SearchSettings, 'targetSpace' | 'limit'> {
  /** Present where the sampled policy answers for the whole release. */
  readonly sampled?: RescoreCounts & { readonly usesCodebook: boolean };
}

/** The same of queries whose tokens are at hand. */
export async function scanEncoded(
  queries: readonly EncodedQuery[],
  { targetSpace, limit, sampled }: PartialResultSettings,
  range: TargetRange,
  engine: Pick<SearchEngine, 'release' | 'backend' | 'store'>,
  options: KernelOptions,
): Promise<readonly PartialResult[]> {
  const { release, store } = engine;
  // The pool of whoever merges needs nothing of a part.
  const isIdle = sampled !== undefined && (sampled.usesCodebook || isMeasuredWhole(sampled, targetSpace));
  const eligible = isIdle ? NONE : eligibleIn(targetSpace, range);
  const storeFrom = store.targetCount === release.targets.count ? 0 : range.from;
  const targets = eligible ?? everyTarget(range);
  const isWholeStore = eligible === undefined && targets.length === store.targetCount;
  const part = { storeFrom, targets, inStore: isWholeStore ? undefined : lessFrom(targets, storeFrom) };
  const { dimension } = release.manifest.encoder;
  const tokens = queries.map((query) => query.tokens);
  const size = Math.max(1, Math.floor(BATCH_PACK_MAX_PAIRS / Math.max(1, part.targets.length)));
  const partialResults: PartialResult[] = [];
  for (let start = 0; start < tokens.length; start += size) {
    const pack = tokens.slice(start, start + size);
    const packSums =
      sampled === undefined
        ? await scanNearest(pack, part, limit, engine, options)
        : await scanSampled(pack, part, sampled, engine, options);
    for (const [index, sums] of packSums.entries()) {
      partialResults.push({ ...sums, queryTokensSha256: tokensSha256(pack[index], dimension) });
    }
  }
  return partialResults;
}

const NONE = new Uint32Array(0);
type Sums = Omit<PartialResult, 'queryTokensSha256'>;
type Kernels = Pick<SearchEngine, 'release' | 'backend' | 'store'>;

/** The eligible targets of a range, as the release counts them, and as its store does. */
interface Part {
  readonly targets: Uint32Array;
  /** The release's number of the store's first target. */
  readonly storeFrom: number;
  /** Undefined for all that the store has. */
  readonly inStore: Uint32Array | undefined;
}

function everyTarget({ from, to }: TargetRange): Uint32Array {
  const targets = new Uint32Array(to - from);
  for (let place = 0; place < targets.length; place += 1) targets[place] = from + place;
  return targets;
}

function lessFrom(targets: Uint32Array, from: number): Uint32Array {
  return from === 0 ? targets : targets.map((target) => target - from);
}

async function scanNearest(
  tokens: readonly QueryTokens[],
  part: Part,
  limit: number,
  { backend, store, release }: Kernels,
  options: KernelOptions,
): Promise<readonly Sums[]> {
  const { targets, storeFrom, inStore } = part;
  const found =
    backend.nearest === undefined
      ? (await backend.maxsim(store, tokens, inStore, options)).map((sums) => ({ sums, targets }))
      : (await backend.nearest(store, tokens, inStore, limit, options)).map((sums) => ({
          sums,
          targets: sums.targets.map((target) => target + storeFrom),
        }));
  return Promise.all(
    found.map(async (compared, query) => {
      const ranked = [...(await rank(compared, tokens[query].length, release, limit))];
      ranked.sort((a, b) => a.targetIndex - b.targetIndex);
      return {
        targets: Uint32Array.from(ranked, ({ targetIndex }) => targetIndex),
        queryToTarget: Int32Array.from(ranked, ({ queryToTargetSum }) => queryToTargetSum),
        targetToQuery: Int32Array.from(ranked, ({ targetToQuerySum }) => targetToQuerySum),
      };
    }),
  );
}

async function scanSampled(
  tokens: readonly QueryTokens[],
  part: Part,
  counts: RescoreCounts,
  { backend, store, release }: Kernels,
  options: KernelOptions,
): Promise<readonly Sums[]> {
  const { targets, inStore } = part;
  // The kernels say nothing of no targets, not even that they have no excess.
  if (targets.length === 0) {
    const none = new Int32Array(0);
    return tokens.map(() => ({ targets, queryToTarget: none, targetToQuery: none, queryExcess: none }));
  }
  const sampled = tokens.map((query) => sampleTokens(query, COARSE_ROWS));
  const swept = await backend.sweep(store, sampled, inStore, excessFloor(release), options);
  return Promise.all(
    swept.map(async (sums, query) => {
      const best = ascending(
        await bestOf(sums, targets, sampled[query].length, prefilterCountsOf(counts), release),
      );
      const places = Array.from(best, (target) => firstFrom(targets, target));
      const at = (values: Int32Array): Int32Array => Int32Array.from(places, (place) => values[place]);
      return {
        targets: best,
        queryToTarget: at(sums.queryToTarget),
        targetToQuery: at(sums.targetToQuery),
        queryExcess: at(sums.queryExcess),
      };
    }),
  );
}

/** The eligible targets of a range, ascending; undefined where all are. */
export function eligibleIn(
  { eligible }: Pick<TargetSpace, 'eligible'>,
  { from, to }: TargetRange,
): Uint32Array | undefined {
  return eligible?.slice(firstFrom(eligible, from), firstFrom(eligible, to));
}
