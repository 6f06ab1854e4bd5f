import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyEdges, type NeighbourGraph } from '../../src/neighbours/graph.js';
import type { WalkHit } from '../../src/propagation/walk.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { openTokenReader } from '../../src/release/rows/token-reader.js';
import { chooseMany, searchMany } from '../../src/search/search.js';
import type { Candidate, EncodedQuery, SearchEngine } from '../../src/search/search-types.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import { logEValueOf } from '../tools/candidate-scores.js';

/** Queries of one search, and of one file of the folder. */
const PACK = 128;
/** Nearest targets by MaxSim that get an E-value. */
const CANDIDATES = 1_000;
/** Largest E-value of a stored hit, and of one with the ends of its alignment. */
const STORED_EVALUE = 300;
const ALIGNED_EVALUE = 10;
/** Numbers of one stored hit: target, bits of ln E, ends on the query, ends on the target. */
const WORDS = 4;

/** Neighbours of a target in a graph. */
const ROW = 100;

/** Hits of one query, by ascending E-value. */
export interface HitList {
  readonly targets: Uint32Array;
  readonly logEValues: Float32Array;
  /** Start × 65,536 + end of the alignment, half-open; 0 above ALIGNED_EVALUE. */
  readonly querySpans: Uint32Array;
  readonly targetSpans: Uint32Array;
}

/**
 * Searches a release with many queries and stores each pack of results in a file, so that a later call goes on there.
 * @param name     first part of the files' names
 * @param untilMs  time of `performance.now()` after which no pack starts
 * @returns the lists of the first queries, as many as are finished
 * Errors  those of `searchMany` and the file system
 */
export async function searchLists(
  engine: SearchEngine,
  sequences: readonly string[],
  folder: string,
  name: string,
  untilMs: number,
): Promise<readonly HitList[]> {
  const settings = settingsOf(engine);
  return storedLists(sequences, folder, name, untilMs, async (pack) => {
    const queries = pack.map((sequence) => ({ sequence, normalizationId: NORMALIZATION_ID }));
    const results = await searchMany(queries, settings, engine);
    return results.map(({ candidates }) => candidates);
  });
}

/**
 * Lists the hits of some targets of a release, whose tokens have the homologs of the build. The values are those of
 * `searchLists` with their sequences, without the ends of alignments.
 * Errors  those of `chooseMany` and the file system
 */
export async function targetLists(
  engine: SearchEngine,
  targets: readonly number[],
  folder: string,
  name: string,
  untilMs: number,
): Promise<readonly HitList[]> {
  const { release } = engine;
  const reader = await openTokenReader(release);
  const queryOf = async (target: number): Promise<EncodedQuery> => ({
    sequence: release.targets.sequence(target),
    normalizationId: NORMALIZATION_ID,
    tokens: await reader.read(target),
  });
  const settings = { ...settingsOf(engine), evidence: 'candidate_measurement' } as const;
  try {
    return await storedLists(targets, folder, name, untilMs, async (pack) =>
      chooseMany(await Promise.all(pack.map(queryOf)), settings, engine),
    );
  } finally {
    await reader.close();
  }
}

function settingsOf({ release }: SearchEngine) {
  return {
    targetSpace: unfilteredSpace(release),
    limit: CANDIDATES,
    evidence: 'pairwise_sequence_alignment',
    guarantee: 'exhaustive',
    significance: 'if_available',
    alignedMaxEValue: ALIGNED_EVALUE,
  } as const;
}

async function storedLists<Query>(
  queries: readonly Query[],
  folder: string,
  name: string,
  untilMs: number,
  listsOf: (pack: readonly Query[]) => Promise<readonly (readonly Candidate[])[]>,
): Promise<readonly HitList[]> {
  const paths: string[] = [];
  for (let start = 0; start < queries.length; start += PACK) {
    const path = join(folder, `${name}-${start}.bin`);
    if (existsSync(path)) {
      paths.push(path);
      continue;
    }
    if (performance.now() > untilMs) break;
    const words = (await listsOf(queries.slice(start, start + PACK))).flatMap(encodeHits);
    writeFileSync(`${path}.new`, Uint32Array.from(words));
    renameSync(`${path}.new`, path);
    paths.push(path);
  }
  return paths.flatMap(readLists);
}

/** Returns the hits among the first targets only, with the E-values of a search of these targets. */
export function amongFirst(list: HitList, count: number, targetCount: number): HitList {
  const isFirst = (_: unknown, hit: number): boolean => list.targets[hit] < count;
  const shift = Math.log(count / targetCount);
  return {
    targets: list.targets.filter(isFirst),
    logEValues: list.logEValues.filter(isFirst).map((log) => log + shift),
    querySpans: list.querySpans.filter(isFirst),
    targetSpans: list.targetSpans.filter(isFirst),
  };
}

/** Returns the aligned hits of a list as the start of a walk. */
export function walkHitsOf({ targets, logEValues, targetSpans }: HitList): readonly WalkHit[] {
  return Array.from(targets, (target, hit) => ({
    target,
    logEValue: logEValues[hit],
    targetStart: startOf(targetSpans[hit]),
    targetEnd: endOf(targetSpans[hit]),
  })).filter(({ targetEnd }) => targetEnd > 0);
}

/** Returns the graph that `gloaming index neighbours` would make of the lists of all targets, in their order. */
export function graphOf(lists: readonly HitList[]): NeighbourGraph {
  const rows = lists.map(({ targets, targetSpans }, query) =>
    Array.from(targets.keys())
      .filter((hit) => targets[hit] !== query && targetSpans[hit] > 0)
      .slice(0, ROW),
  );
  const edges = emptyEdges(rows.reduce((sum, { length }) => sum + length, 0));
  const offsets = new Uint32Array(lists.length + 1);
  let edge = 0;
  rows.forEach((hits, query) => {
    const list = lists[query];
    for (const hit of hits) {
      edges.targets[edge] = list.targets[hit];
      edges.logEValues[edge] = list.logEValues[hit];
      edges.queryStarts[edge] = startOf(list.querySpans[hit]);
      edges.queryEnds[edge] = endOf(list.querySpans[hit]);
      edges.targetStarts[edge] = startOf(list.targetSpans[hit]);
      edges.targetEnds[edge] = endOf(list.targetSpans[hit]);
      edge += 1;
    }
    offsets[query + 1] = edge;
  });
  return { ...edges, offsets };
}

function startOf(span: number): number {
  return Math.floor(span / 65_536);
}

function endOf(span: number): number {
  return span % 65_536;
}

/** Returns the number of hits and their words. */
function encodeHits(candidates: readonly Candidate[]): readonly number[] {
  const hits = candidates
    .flatMap((candidate) => {
      const logEValue = logEValueOf(candidate) ?? Infinity;
      return logEValue > Math.log(STORED_EVALUE) ? [] : [{ candidate, logEValue }];
    })
    .sort((a, b) => a.logEValue - b.logEValue);
  const bits = new Uint32Array(Float32Array.from(hits, ({ logEValue }) => logEValue).buffer);
  return [
    hits.length,
    ...hits.flatMap(({ candidate: { targetIndex, alignment } }, at) => [
      targetIndex,
      bits[at],
      alignment === undefined ? 0 : alignment.queryStart * 65_536 + alignment.queryEnd,
      alignment === undefined ? 0 : alignment.targetStart * 65_536 + alignment.targetEnd,
    ]),
  ];
}

function readLists(path: string): readonly HitList[] {
  const bytes = readFileSync(path);
  const words = new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const lists: HitList[] = [];
  for (let at = 0; at < words.length;) {
    const count = words[at];
    const column = (offset: number): Uint32Array =>
      Uint32Array.from({ length: count }, (_, hit) => words[at + 1 + hit * WORDS + offset]);
    lists.push({
      targets: column(0),
      logEValues: new Float32Array(column(1).buffer),
      querySpans: column(2),
      targetSpans: column(3),
    });
    at += 1 + count * WORDS;
  }
  return lists;
}
