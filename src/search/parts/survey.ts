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
import { encode } from '../query/encode.js';
import { resolvePolicy } from '../policy.js';
import { rank } from '../rank.js';
import { ascending, bestOf, excessFloor, isMeasuredWhole, poolOf } from '../sampled/finalists.js';
import { COARSE_ROWS, sampleTokens } from '../sampled/sampling.js';
import { tokensSha256 } from '../seal.js';
import type {
  EncodedQuery,
  FinalistCounts,
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
export interface Survey {
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
  const starts: number[] = [];
  for (let target = 0; target < targetCount && starts.length < count; target += 1) {
    while (starts.length < count && residueStarts[target] * count >= starts.length * residues)
      starts.push(target);
  }
  while (starts.length <= count) starts.push(targetCount);
  return starts.slice(0, count).map((from, part) => ({ from, to: starts[part + 1] }));
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
export async function surveyRange(
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  range: TargetRange,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly Survey[]> {
  const { threads, isBackground } = engine;
  const { sampled } = resolvePolicy(engine, settings);
  const encoded = await encode(queries, settings, engine, { signal });
  return surveyEncoded(encoded, { ...settings, sampled }, range, engine, { signal, threads, isBackground });
}

/** What a survey depends on besides queries, release and range. */
export interface SurveySettings extends Pick<SearchSettings, 'targetSpace' | 'limit'> {
  /** Present where the sampled policy answers for the whole release. */
  readonly sampled?: FinalistCounts & { readonly isCoded: boolean };
}

/** The same of queries whose tokens are at hand. */
export async function surveyEncoded(
  queries: readonly EncodedQuery[],
  { targetSpace, limit, sampled }: SurveySettings,
  range: TargetRange,
  engine: Pick<SearchEngine, 'release' | 'backend' | 'store'>,
  options: KernelOptions,
): Promise<readonly Survey[]> {
  const { release, store } = engine;
  // The pool of whoever merges needs nothing of a part.
  const isIdle = sampled !== undefined && (sampled.isCoded || isMeasuredWhole(sampled, targetSpace));
  const part = {
    storeFrom: store.targetCount === release.targets.count ? 0 : range.from,
    targets: isIdle ? NONE : eligibleIn(targetSpace, range),
  };
  const { dimension } = release.manifest.encoder;
  const tokens = queries.map((query) => query.tokens);
  const size = Math.max(1, Math.floor(BATCH_PACK_MAX_PAIRS / Math.max(1, part.targets.length)));
  const surveys: Survey[] = [];
  for (let start = 0; start < tokens.length; start += size) {
    const pack = tokens.slice(start, start + size);
    const surveyed =
      sampled === undefined
        ? await surveyNearest(pack, part, limit, engine, options)
        : await surveySampled(pack, part, sampled, engine, options);
    for (const [index, sums] of surveyed.entries()) {
      surveys.push({ ...sums, queryTokensSha256: tokensSha256(pack[index], dimension) });
    }
  }
  return surveys;
}

const NONE = new Uint32Array(0);
type Sums = Omit<Survey, 'queryTokensSha256'>;
type Kernels = Pick<SearchEngine, 'release' | 'backend' | 'store'>;

/** The eligible targets of a range, as the release counts them; its store counts from the first that it has. */
interface Part {
  readonly storeFrom: number;
  readonly targets: Uint32Array;
}

function inStore({ storeFrom, targets }: Part): Uint32Array {
  return targets.map((target) => target - storeFrom);
}

async function surveyNearest(
  tokens: readonly QueryTokens[],
  part: Part,
  limit: number,
  { backend, store, release }: Kernels,
  options: KernelOptions,
): Promise<readonly Sums[]> {
  const { targets, storeFrom } = part;
  const found =
    backend.nearest === undefined
      ? (await backend.maxsim(store, tokens, inStore(part), options)).map((sums) => ({ sums, targets }))
      : (await backend.nearest(store, tokens, inStore(part), limit, options)).map((sums) => ({
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

async function surveySampled(
  tokens: readonly QueryTokens[],
  part: Part,
  counts: FinalistCounts,
  { backend, store, release }: Kernels,
  options: KernelOptions,
): Promise<readonly Sums[]> {
  const { targets } = part;
  // The kernels say nothing of no targets, not even that they have no excess.
  if (targets.length === 0) {
    const none = new Int32Array(0);
    return tokens.map(() => ({ targets, queryToTarget: none, targetToQuery: none, queryExcess: none }));
  }
  const sampled = tokens.map((query) => sampleTokens(query, COARSE_ROWS));
  const swept = await backend.sweep(store, sampled, inStore(part), excessFloor(release), options);
  const placeOf = new Map(Array.from(targets, (target, place) => [target, place]));
  return Promise.all(
    swept.map(async (sums, query) => {
      const best = ascending(await bestOf(sums, targets, sampled[query].length, poolOf(counts), release));
      const at = (values: Int32Array): Int32Array =>
        Int32Array.from(best, (target) => values[placeOf.get(target)!]);
      return {
        targets: best,
        queryToTarget: at(sums.queryToTarget),
        targetToQuery: at(sums.targetToQuery),
        queryExcess: at(sums.queryExcess),
      };
    }),
  );
}

/** The eligible targets of a range, ascending. */
export function eligibleIn({ eligible }: Pick<TargetSpace, 'eligible'>, { from, to }: TargetRange): Uint32Array {
  if (eligible === undefined) return Uint32Array.from({ length: to - from }, (_, place) => from + place);
  return eligible.filter((target) => target >= from && target < to);
}
