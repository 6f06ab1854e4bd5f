import { neighboursId } from '../neighbours/card.js';
import type { Neighbours } from '../neighbours/sidecar.js';
import { WALKS_FORMAT, type WalksCard } from '../propagation/card.js';
import { walkHits } from '../propagation/hits.js';
import { createWalk, MASS_ONE, type Walk, type WalkHit } from '../propagation/walk.js';
import { WALK_PARAMETERS, type WalkParameters } from '../propagation/weights.js';
import { sampleDistinct, seededRandom } from '../random.js';
import { unfilteredSpace } from '../release/filter/target-space.js';
import { batchEnd, largestBatchSize } from '../search/batches.js';
import { searchMany } from '../search/search.js';
import type { SearchEngine, SearchResult } from '../search/search-types.js';
import { NORMALIZATION_ID } from '../sequence/protein.js';
import { reversed } from '../significance/control.js';

/*
 * Level of the null of walks over a graph of neighbours (propagation/null.ts). Reversed proteins of the release are
 * searched, and their hits walk. A reversed protein has no homologs, so that every target that its walk reaches is
 * unrelated to it. Where such proteins reach more targets than those of labelled domains do, all E-values are raised.
 *
 * The curve of the null is that of natural proteins, whose homologs have chance hits of their own. Reversed proteins
 * alone do not show it: a few clumps of chance hits made their tails, which differed twentyfold between databases.
 * Natural proteins of an unlabelled database are no null, because they reach homologs that no link connects. Among
 * 2,048 SCOPe domains, 1,950 of the best 2,048 such targets were homologs or of the same fold.
 */

/** Reversed proteins. */
const REVERSED_COUNT = 1_000;
/** Hits of a reversed protein among its nearest targets. */
const CANDIDATES = 1_000;
/** Least share of a certain hit's mass of the targets that are counted. */
const REFERENCE_SHARE = 0.1;
/** How many targets of that mass a reversed labelled domain reaches: 3.2 without homologs, 2.8 with them. */
const REFERENCE_COUNT = 3.3;

export interface WalksOptions {
  readonly engine: SearchEngine;
  readonly neighbours: Neighbours;
  readonly parameters?: WalkParameters;
  /** Default: 1. */
  readonly seed?: number;
  /** Default: REVERSED_COUNT. */
  readonly reversedCount?: number;
  readonly signal?: AbortSignal;
  /** Called with the number of finished walks. */
  readonly onWalks?: (done: number) => void;
}

/**
 * Measures the level of the null of walks over the graph of a release.
 * Errors  those of searchMany
 */
export async function measureWalks(options: WalksOptions): Promise<WalksCard> {
  const { engine, neighbours, parameters = WALK_PARAMETERS, seed = 1 } = options;
  const { release } = engine;
  const walk = createWalk(neighbours.graph, parameters);
  let [walks, reached] = [0, 0];
  for await (const results of searchReversed(options, seed)) {
    for (const { candidates } of results) reached += countReached(walk, walkHits(candidates));
    walks += results.length;
    options.onWalks?.(walks);
  }
  return {
    format: WALKS_FORMAT,
    release_id: release.id,
    graph_id: neighboursId(neighbours.card),
    parameters,
    has_homologs: release.manifest.relatives !== undefined,
    seed,
    reversed_count: walks,
    reached_count: reached,
    level: levelOf(reached, walks),
  };
}

/** Returns how many targets a walk of a reversed protein reaches with at least a tenth of a certain hit's mass. */
export function countReached(walk: Walk, hits: readonly WalkHit[]): number {
  return walk(hits).filter(({ mass }) => mass >= REFERENCE_SHARE * MASS_ONE).length;
}

/** Returns the level of a null by what the walks of reversed proteins reached together. Range: 1 or more */
export function levelOf(reached: number, walks: number): number {
  return Math.max(1, reached / (REFERENCE_COUNT * walks));
}

/** Searches a sample of the release's proteins, reversed and without homologs, in batches. */
async function* searchReversed(
  { engine, reversedCount = REVERSED_COUNT, signal }: WalksOptions,
  seed: number,
): AsyncGenerator<readonly SearchResult[]> {
  const { targets } = engine.release;
  const sample = sampleDistinct(targets.count, reversedCount, seededRandom(seed));
  const queries = Array.from(sample, (target) => ({
    sequence: reversed(targets.sequence(target)),
    normalizationId: NORMALIZATION_ID,
  }));
  const settings = {
    targetSpace: unfilteredSpace(engine.release),
    limit: Math.min(CANDIDATES, targets.count),
    evidence: 'pairwise_sequence_alignment',
    guarantee: 'approximate',
    significance: 'if_available',
    relatives: 'none',
    alignedMaxEValue: WALK_PARAMETERS.largest_evalue,
  } as const;
  for (let start = 0; start < queries.length;) {
    const end = batchEnd(queries, start, largestBatchSize(settings), ({ sequence }) => sequence.length);
    yield await searchMany(queries.slice(start, end), settings, engine, signal);
    start = end;
  }
}
