import { Refusal } from '../errors.js';
import { encodeHomologSets } from '../homologs/encode.js';
import type { SelectedHomologSet } from '../homologs/finder.js';
import type { FoundHomolog } from '../homologs/homolog-set.js';
import { HOMOLOG_RULES, type HomologRules } from '../homologs/rules.js';
import { MSA_PROFILE_EXPECTED_FALSE_HITS } from '../limits.js';
import { PROFILE_SCALE } from '../release/profile-affine.js';
import { longestListing } from '../recall/policy-card.js';
import { unfilteredSpace } from '../release/filter/target-space.js';
import { openRowReader } from '../release/rows/row-reader.js';
import { eValueOf } from '../search/pairs/candidate-significance.js';
import { searchEncoded, searchMany } from '../search/search.js';
import type {
  Candidate,
  EncodedQuery,
  ProteinQuery,
  SearchEngine,
  SearchResult,
  SearchSettings,
} from '../search/search-types.js';
import { homologOf, homologSetOf } from './search.js';

/**
 * Rules for the hits that enter the profile of the next round. Only the aligned stretch of a hit enters. The vectors
 * are read from the release, so that all homologs of the profile are averaged.
 */
const ROUND_RULES: HomologRules = Object.freeze({
  ...HOMOLOG_RULES,
  maxEValue: MSA_PROFILE_EXPECTED_FALSE_HITS,
  vectorCount: HOMOLOG_RULES.profileCount,
});

/** Share of a list that could be rows, from which on a longer list is searched. */
const FULL_SHARE = 0.5;

/** Settings of a search in rounds. */
export interface RoundSettings extends SearchSettings {
  /** Number of searches. Range  1..MSA_MAX_ROUNDS */
  readonly rounds: number;
  /** Largest E-value of a candidate that the result keeps, if its query has a second round. */
  readonly maxEValue: number;
}

/**
 * Searches a release in rounds. Each round after the first compares the query as the profile of the hits that the
 * previous round found. A query without such hits keeps the result of its first round. Otherwise its candidates are
 * those of all rounds within `maxEValue`, each with the alignment and the E-value of the last round that found it,
 * ranked by E-value. The digest is that of the last round alone.
 * Errors  those of searchMany; errors of the file system
 */
export async function searchRounds(
  queries: readonly ProteinQuery[],
  { rounds, maxEValue, ...settings }: RoundSettings,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly SearchResult[]> {
  const lists = await searchEachRound(queries, settings, rounds, engine, signal);
  return lists.map((results) => mergeRounds(results, maxEValue));
}

/**
 * Searches a release in rounds, and returns the results of all rounds of each query, the first round first.
 * Errors  those of searchMany; errors of the file system
 */
export async function searchEachRound(
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  rounds: number,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly (readonly SearchResult[])[]> {
  const first: SearchSome<ProteinQuery> = (some, bounds) => searchMany(some, bounds, engine, signal);
  const next: SearchSome<EncodedQuery> = (some, bounds) => searchEncoded(some, bounds, engine, signal);
  const limits = limitsOf(settings, engine);
  const steps = new Uint8Array(queries.length);
  const lists = (await searchWidening(queries, first, settings, { limits, steps })).map((result) => [result]);
  let names = queries.map(() => '');
  for (let round = 2; round <= rounds; round += 1) {
    const last = lists.map((results) => results[results.length - 1]);
    const sets = await profilesOf(queries, last, engine);
    const nextNames = sets.map(({ homologs }) =>
      homologs.map(({ id, cigar }) => `${id} ${cigar}`).join('\n'),
    );
    // The profile of equal alignments is the same, and so is its result.
    const changed = nextNames.flatMap((name, index) => (name === names[index] ? [] : [index]));
    names = nextNames;
    const encoded = await encodeProfiles(
      changed.map((index) => ({ query: queries[index], homologSet: sets[index] })),
      engine,
      signal,
    );
    const stepsOfChanged = Uint8Array.from(changed, (index) => steps[index]);
    const results = await searchWidening(encoded, next, settings, { limits, steps: stepsOfChanged });
    for (const [place, index] of changed.entries()) {
      lists[index].push(results[place]);
      steps[index] = stepsOfChanged[place];
    }
  }
  return lists;
}

/** Searches with some of the queries of a round, in their order. */
type SearchSome<Query> = (
  queries: readonly Query[],
  settings: SearchSettings,
) => Promise<readonly SearchResult[]>;

/**
 * Limits of the lists that a query of a round may get, ascending. First come the shortest and the longest list for
 * which the approximate policy of the release was measured. A policy that rescores in steps begins with the longest,
 * because only a query with many homologs then costs more. The whole list of the settings comes last. Its policy may be
 * the exhaustive one. Settings without a largest E-value of aligned candidates have the whole list alone.
 */
function limitsOf(
  { guarantee, limit, alignedMaxEValue }: SearchSettings,
  { qualification }: Pick<SearchEngine, 'qualification'>,
): readonly number[] {
  if (guarantee !== 'approximate' || qualification === undefined || alignedMaxEValue === undefined)
    return [limit];
  const { card } = qualification;
  const { nearest_count: shortest, pool_count: poolCount } = card.policy;
  const longest = longestListing(card);
  const measured = poolCount === undefined ? new Set([shortest, longest]) : new Set([longest]);
  return [...[...measured].filter((one) => one < limit), limit];
}

/**
 * Searches with the query's shortest list. If half of a full list could be rows, the query gets the next longer one,
 * also in later rounds.
 * @param steps  the index of each query's list among the limits, which this function increases
 */
async function searchWidening<Query>(
  queries: readonly Query[],
  searchSome: SearchSome<Query>,
  settings: SearchSettings,
  { limits, steps }: { readonly limits: readonly number[]; readonly steps: Uint8Array },
): Promise<readonly SearchResult[]> {
  const { alignedMaxEValue: maxEValue = Infinity } = settings;
  const isRow = (candidate: Candidate): boolean => (eValueOf(candidate) ?? Infinity) <= maxEValue;
  const results = new Array<SearchResult>(queries.length);
  for (const [step, limit] of limits.entries()) {
    const open = [...queries.keys()].filter((index) => steps[index] === step);
    if (open.length === 0) continue;
    const some = await searchSome(
      open.map((index) => queries[index]),
      { ...settings, limit },
    );
    for (const [at, index] of open.entries()) {
      results[index] = some[at];
      const { candidates, funnel } = some[at];
      const isFull = funnel.rescored >= limit && candidates.filter(isRow).length >= FULL_SHARE * limit;
      if (step + 1 < limits.length && isFull) steps[index] += 1;
    }
  }
  return results;
}

/** Merges the results of all rounds of a query, as `searchRounds` describes it. */
export function mergeRounds(results: readonly SearchResult[], maxEValue: number): SearchResult {
  const last = results[results.length - 1];
  if (results.length === 1) return last;
  const byTarget = new Map<number, { readonly candidate: Candidate; readonly eValue: number }>();
  for (const { candidates } of results) {
    for (const candidate of candidates) {
      const eValue = eValueOf(candidate) ?? Infinity;
      if (eValue <= maxEValue) byTarget.set(candidate.targetIndex, { candidate, eValue });
    }
  }
  const merged = [...byTarget.values()].sort(
    (a, b) => a.eValue - b.eValue || a.candidate.targetIndex - b.candidate.targetIndex,
  );
  return { ...last, candidates: merged.map(({ candidate }, index) => ({ ...candidate, rank: index + 1 })) };
}

/**
 * Lists the homologs of one protein that a search in rounds finds in a release, in ascending order of E-value. Each has
 * the number of the first round that found it.
 * Range   none for a protein that gets no E-values, such as one of fewer residues than the calibration supports
 * Errors  Refusal `significance_unavailable` without a calibration; those of searchMany; errors of the file system
 * @param limit  candidates that each round aligns
 */
export async function listByRounds(
  query: ProteinQuery,
  { rounds, maxEValue, limit }: Pick<RoundSettings, 'rounds' | 'maxEValue' | 'limit'>,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly FoundHomolog[]> {
  const { release, calibration } = engine;
  if (calibration === undefined) {
    throw new Refusal(
      'significance_unavailable',
      'Rounds take hits into a profile by their E-values, and this release has no qualified calibration. ' +
        '"gloaming index calibrate" makes one.',
      { param: 'rounds' },
    );
  }
  const settings = {
    targetSpace: unfilteredSpace(release),
    limit,
    evidence: 'pairwise_sequence_alignment',
    alignedMaxEValue: maxEValue,
    usedMaxEValue: maxEValue,
    guarantee: 'approximate',
    significance: 'if_available',
  } as const;
  const [results] = await searchEachRound([query], settings, rounds, engine, signal);
  const firstRounds = new Map<number, number>();
  for (const [index, { candidates }] of results.entries()) {
    for (const candidate of candidates) {
      const isHomolog = (eValueOf(candidate) ?? Infinity) <= maxEValue;
      if (isHomolog && !firstRounds.has(candidate.targetIndex))
        firstRounds.set(candidate.targetIndex, index + 1);
    }
  }
  return mergeRounds(results, maxEValue).candidates.flatMap((candidate) => {
    const round = firstRounds.get(candidate.targetIndex);
    const homolog = round === undefined ? undefined : homologOf(candidate, release);
    return round === undefined || homolog === undefined ? [] : [{ ...homolog, round }];
  });
}

/** Selects the homologs of each query's next profile among the candidates of its last result. */
async function profilesOf(
  queries: readonly ProteinQuery[],
  results: readonly SearchResult[],
  { release }: SearchEngine,
): Promise<readonly SelectedHomologSet[]> {
  const reader = await openRowReader(release.tokens);
  try {
    const sets: SelectedHomologSet[] = [];
    for (const [index, { candidates }] of results.entries())
      sets.push(await homologSetOf(queries[index].sequence, candidates, release, reader, ROUND_RULES));
    return sets;
  } finally {
    await reader.close();
  }
}

interface QueryProfile {
  readonly query: ProteinQuery;
  readonly homologSet: SelectedHomologSet;
}

/**
 * Returns the tokens of each profile in the form of the release: with a quantised profile if its targets have homologs,
 * otherwise the mean vectors alone.
 */
async function encodeProfiles(
  profiles: readonly QueryProfile[],
  { encoder, profileEncoder, release }: SearchEngine,
  signal: AbortSignal | undefined,
): Promise<readonly EncodedQuery[]> {
  const { dimension, inverse_step: inverseStep } = release.manifest.encoder;
  const form = profileEncoder?.form;
  const plain = { encoderDimension: dimension, dimension, inverseStep, profileShare: 0 };
  const tokens = await encodeHomologSets(
    encoder,
    // Targets with homologs have tokens of their profiles, and a homolog is averaged with those of its sequence.
    profiles.map(({ homologSet }) =>
      form === undefined ? homologSet : { ...homologSet, vectors: undefined },
    ),
    form ?? { ...plain, profileScale: PROFILE_SCALE },
    { signal },
  );
  return profiles.map(({ query, homologSet }, index) => {
    const { values, length } = tokens[index];
    return form === undefined
      ? { ...query, tokens: { values, length }, hasMeanTokens: true }
      : { ...query, tokens: tokens[index], relatives: { count: homologSet.homologs.length, elapsedMs: 0 } };
  });
}
