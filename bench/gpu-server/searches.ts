import { assert } from '../../src/errors.js';
import { spaced, type BenchProtein } from '../tools/proteins.js';
import { percentile } from '../tools/statistics.js';

/** Address of a server, and credentials. */
export interface SearchClient {
  readonly url: string;
  readonly key: string;
}

/** Members of a request for a search, beside its query. */
type Settings = Readonly<Record<string, unknown>>;

interface Answer {
  readonly ms: number;
  /** Such as "cuda:hopper". */
  readonly engine: string;
  readonly digest: string;
}

/** Answers to the same searches, in their order. */
export interface Answers {
  readonly engines: ReadonlySet<string>;
  readonly digests: readonly string[];
}

/** Milliseconds from the request to the end of the answer. */
export interface Latency {
  readonly p50_ms: number;
  readonly p95_ms: number;
}

const QUERIES = 10;
const QUERY_MAX_RESIDUES = 2_000;
const EXHAUSTIVE = { guarantee: 'exhaustive', limit: 100 } as const;
const COMPARED: readonly Settings[] = [
  EXHAUSTIVE,
  { ...EXHAUSTIVE, limit: 1_000, significance: 'not_requested' },
  { ...EXHAUSTIVE, filter: { op: 'gte', field: 'length', value: '300' } },
  { evidence: 'pairwise_sequence_alignment', significance: 'if_available', limit: 50 },
  { guarantee: 'approximate' },
];

/** Answers 50 searches: queries of all lengths, each with a long list, a filter, alignments, and approximate. */
export async function answersTo(client: SearchClient, proteins: readonly BenchProtein[]): Promise<Answers> {
  const byLength = [...proteins].sort((a, b) => a.sequence.length - b.sequence.length);
  const answers: Answer[] = [];
  for (const { sequence } of spaced(byLength, QUERIES)) {
    for (const settings of COMPARED)
      answers.push(await search(client, sequence.slice(0, QUERY_MAX_RESIDUES), settings));
  }
  return {
    engines: new Set(answers.map(({ engine }) => engine)),
    digests: answers.map(({ digest }) => digest),
  };
}

/** Times one exhaustive search after the other. The first three are not counted. */
export async function latencyOf(
  client: SearchClient,
  queries: readonly string[],
  settings: Settings = {},
): Promise<Latency & Answers> {
  const answers: Answer[] = [];
  for (const query of queries) answers.push(await search(client, query, { ...EXHAUSTIVE, ...settings }));
  const times = answers.slice(3).map(({ ms }) => ms);
  return {
    p50_ms: percentile(times, 0.5),
    p95_ms: percentile(times, 0.95),
    engines: new Set(answers.map(({ engine }) => engine)),
    digests: answers.map(({ digest }) => digest),
  };
}

/**
 * Exhaustive searches a second that clients get, each of which sends the next one after an answer.
 * @param next  returns another query at each call
 */
export async function rateOf(
  client: SearchClient,
  clients: number,
  seconds: number,
  next: () => string,
): Promise<number> {
  const startedAt = performance.now();
  let answered = 0;
  const ask = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1_000) {
      await search(client, next(), EXHAUSTIVE);
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, ask));
  return answered / ((performance.now() - startedAt) / 1_000);
}

/** Returns a source of queries of a length in residues, each from another place of the joined proteins. */
export function querySource(proteins: readonly BenchProtein[]): (residues: number) => string {
  const joined = proteins.map(({ sequence }) => sequence).join('');
  let [place, turns] = [0, 0];
  return (residues) => {
    if (place + residues > joined.length) place = turns += 1;
    place += residues;
    return joined.slice(place - residues, place);
  };
}

async function search({ url, key }: SearchClient, sequence: string, settings: Settings): Promise<Answer> {
  const startedAt = performance.now();
  const response = await fetch(`${url}/v1/homology`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: { kind: 'protein_sequence', sequence }, ...settings }),
  });
  const text = await response.text();
  const ms = performance.now() - startedAt;
  assert(response.ok, `a search is answered: ${text.slice(0, 500)}`);
  const answer = JSON.parse(text) as {
    readonly result_sha256: string;
    readonly execution: { readonly engine: string };
    readonly performance: { readonly is_cache_hit: boolean };
  };
  assert(!answer.performance.is_cache_hit, 'no search is answered from the cache');
  return { ms, engine: answer.execution.engine, digest: answer.result_sha256 };
}
