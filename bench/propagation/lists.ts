import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyEdges, type NeighbourGraph } from '../../src/neighbours/graph.js';
import type { WalkHit } from '../../src/propagation/walk.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import type { TargetSpace } from '../../src/release/release.js';
import { openTokenReader } from '../../src/release/rows/token-reader.js';
import type { AffineAlignment } from '../../src/kernels/kernels.js';
import { findPaths } from '../../src/search/rescore.js';
import { chooseMany, searchMany } from '../../src/search/search.js';
import type { Candidate, EncodedQuery, QueryHomologs, SearchEngine } from '../../src/search/search-types.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import { logEValueOf } from '../tools/candidate-scores.js';

/** Queries of one search, and of one file of the folder. */
const PACK = 128;
/**
 * Nearest targets by MaxSim that get an E-value, as many as a search lists unless told otherwise. False hits farther
 * away are not counted: pairs of unequal lengths. Of 906 dev queries with homologs the nearest 1,000 hold .59, .67 and
 * .87 of the false hits that E = 10, 1 and .1 claim, and all targets .94, .90 and 1.10. The benches of calibration and
 * homologs judge all targets.
 */
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

/** A hit of one query: its target, its E-value, and its alignment if that is small. */
interface FoundHit {
  readonly targetIndex: number;
  readonly logEValue: number;
  readonly alignment?: Spans;
}

type Spans = Pick<AffineAlignment, 'queryStart' | 'queryEnd' | 'targetStart' | 'targetEnd'>;

/** Searches the queries from `start` up to, but not including, `end`. Returns the hits of each. */
export type SearchPack = (start: number, end: number) => Promise<readonly (readonly FoundHit[])[]>;

const SETTINGS = { limit: CANDIDATES, guarantee: 'exhaustive', significance: 'if_available' } as const;

/** Proteins of a release that are searched. Targets of their hits are positions among them. */
export interface Members {
  readonly engine: SearchEngine;
  /** Target indices in the release, ascending. */
  readonly targets: Uint32Array;
}

/** All proteins of a release. */
export function allMembers(engine: SearchEngine): Members {
  return { engine, targets: Uint32Array.from({ length: engine.release.targets.count }, (_, at) => at) };
}

function spaceOf({ engine: { release }, targets }: Members): TargetSpace {
  const whole = unfilteredSpace(release);
  if (targets.length === release.targets.count) return whole;
  const searchedResidueCount = targets.reduce((sum, target) => sum + release.targets.length(target), 0);
  return { ...whole, eligible: targets, searchedTargetCount: targets.length, searchedResidueCount };
}

/** Searches proteins of a release with sequences. @param relatives  whether they get homologs */
export function sequencePacks(
  members: Members,
  sequences: readonly string[],
  relatives?: QueryHomologs,
): SearchPack {
  const { engine } = members;
  const positions = positionsOf(members);
  const settings = {
    ...SETTINGS,
    targetSpace: spaceOf(members),
    evidence: 'pairwise_sequence_alignment',
    alignedMaxEValue: ALIGNED_EVALUE,
    relatives,
  } as const;
  return async (start, end) => {
    const queries = sequences
      .slice(start, end)
      .map((sequence) => ({ sequence, normalizationId: NORMALIZATION_ID }));
    const results = await searchMany(queries, settings, engine);
    return results.map(({ candidates }) => placed(candidates.flatMap(foundHit), positions));
  };
}

/** Searches proteins of a release with themselves, whose tokens and profiles it has. */
export function targetPacks(members: Members): SearchPack {
  const { release } = members.engine;
  const positions = positionsOf(members);
  return async (start, end) => {
    const reader = await openTokenReader(release);
    const queries = await Promise.all(
      Array.from(members.targets.subarray(start, end), async (target) => ({
        sequence: release.targets.sequence(target),
        normalizationId: NORMALIZATION_ID,
        tokens: await reader.read(target),
      })),
    ).finally(() => reader.close());
    return (await searchEncoded(members, queries)).map((hits) => placed(hits, positions));
  };
}

type Positions = ReadonlyMap<number, number>;

function positionsOf({ targets }: Members): Positions {
  return new Map(Array.from(targets, (target, position) => [target, position]));
}

function placed(hits: readonly FoundHit[], positions: Positions): readonly FoundHit[] {
  return hits.map((hit) => ({ ...hit, targetIndex: positions.get(hit.targetIndex)! }));
}

/** Searches proteins of a release with encoded queries, and aligns the hits that walks use. */
async function searchEncoded(
  members: Members,
  queries: readonly EncodedQuery[],
): Promise<readonly (readonly FoundHit[])[]> {
  const { engine } = members;
  const targetSpace = spaceOf(members);
  const settings = { ...SETTINGS, targetSpace, evidence: 'candidate_measurement' } as const;
  const chosen = await chooseMany(queries, settings, engine);
  const options = { threads: engine.threads };
  const lists: (readonly FoundHit[])[] = [];
  for (const [at, candidates] of chosen.entries()) {
    const hits = candidates.flatMap(foundHit);
    const aligned = hits.filter(({ logEValue }) => logEValue <= Math.log(ALIGNED_EVALUE));
    const paths = aligned.length === 0 ? [] : await findPaths(queries[at], aligned, engine, options);
    const alignments = new Map(aligned.map(({ targetIndex }, hit) => [targetIndex, paths[hit]]));
    lists.push(hits.map((hit) => ({ ...hit, alignment: alignments.get(hit.targetIndex) })));
  }
  return lists;
}

function foundHit(candidate: Candidate): readonly FoundHit[] {
  const logEValue = logEValueOf(candidate);
  if (logEValue === undefined || logEValue > Math.log(STORED_EVALUE)) return [];
  return [{ targetIndex: candidate.targetIndex, logEValue, alignment: candidate.alignment }];
}

/**
 * Searches a release with sequences by searchPacks. They get homologs if the targets have some.
 * Errors  those of searchPacks
 */
export function searchLists(
  engine: SearchEngine,
  sequences: readonly string[],
  folder: string,
  name: string,
  untilMs: number,
): Promise<readonly HitList[]> {
  return searchPacks(sequencePacks(allMembers(engine), sequences), sequences.length, folder, name, untilMs);
}

/**
 * Searches a release with many queries and stores each pack of results in a file, so that a later call goes on there.
 * @param name     first part of the files' names
 * @param untilMs  time of `performance.now()` after which no pack starts
 * @returns the lists of the first queries, as many as are finished
 * Errors  those of the search and the file system
 */
export async function searchPacks(
  search: SearchPack,
  count: number,
  folder: string,
  name: string,
  untilMs: number,
): Promise<readonly HitList[]> {
  const paths: string[] = [];
  for (let start = 0; start < count; start += PACK) {
    const path = join(folder, `${name}-${start}.bin`);
    if (existsSync(path)) {
      paths.push(path);
      continue;
    }
    if (performance.now() > untilMs) break;
    const lists = await search(start, Math.min(count, start + PACK));
    writeFileSync(`${path}.new`, Uint32Array.from(lists.flatMap(encodeHits)));
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

/** Returns the number of hits and their words, by ascending E-value. */
function encodeHits(found: readonly FoundHit[]): readonly number[] {
  const hits = found.toSorted((a, b) => a.logEValue - b.logEValue);
  const bits = new Uint32Array(Float32Array.from(hits, ({ logEValue }) => logEValue).buffer);
  return [
    hits.length,
    ...hits.flatMap(({ targetIndex, alignment }, at) => [
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
