import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { examplesFolder } from '../../src/demo/demo.js';
import { assert } from '../../src/errors.js';
import { qualifyRelease } from '../../src/measure-recall/qualify.js';
import { readNeighbours } from '../../src/neighbours/sidecar.js';
import { computeNeighbours, type NeighboursResult } from '../../src/pipelines/neighbours/neighbours.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { eValueOf } from '../../src/search/pairs/candidate-significance.js';
import { searchMany } from '../../src/search/search.js';
import type { Bench } from '../main.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { readProteins, spaced } from '../tools/proteins.js';

/*
 * What does the graph of neighbours cost?
 *
 *   npm run bench -- neighbours [FASTA] [--proteins 2000] [--exhaustive] [--folder FOLDER]
 *
 * By default the proteins are those of the demo. The policy is the sampled one where the database is large enough for
 * it, as a build qualifies it; with --exhaustive it is not qualified. The rows of 20 proteins are compared with
 * exhaustive searches that score all targets: the share of their neighbours that the graph has. FOLDER keeps the
 * database for the next call.
 */

const CHECKED_QUERIES = 20;

export const run: Bench = async (options) => {
  const valueOf = (name: string): string | undefined => {
    const at = options.indexOf(name);
    return at < 0 ? undefined : options[at + 1];
  };
  const [first] = options;
  const fasta = first === undefined || first.startsWith('--') ? demoFasta() : first;
  const { list } = await readProteins(fasta);
  const proteins = list.slice(0, Number(valueOf('--proteins') ?? 2_000));
  const kept = valueOf('--folder');
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'gloaming-bench-neighbours-'));
  mkdirSync(folder, { recursive: true });
  const config = loadConfig({
    ...process.env,
    GLOAMING_INDEXES: join(folder, 'i'),
    GLOAMING_DATA: join(folder, 'd'),
  });
  const appliance = await openAppliance(config);
  try {
    const engine = await openCalibrated(appliance, proteins, 'neighbours', folder);
    if (!options.includes('--exhaustive')) await qualifyRelease({ engine }).catch(tooSmall);
    const startedMs = performance.now();
    const given = { database: 'neighbours', isFull: true };
    const result = await computeNeighbours(given, config, process.env, {});
    return await report(result, engine, (performance.now() - startedMs) / 1_000);
  } finally {
    await appliance.close();
    if (kept === undefined) await rm(folder, { recursive: true });
  }
};

function demoFasta(): string {
  return join(examplesFolder(loadConfig(process.env).packageFolder), 'proteins.fasta.gz');
}

function tooSmall(cause: Error): void {
  console.log(`No approximate policy: ${cause.message}`);
}

async function report(result: NeighboursResult, engine: SearchEngine, wallSeconds: number) {
  assert(result.kind === 'computed', 'no tasks were asked for');
  const { card, isKnown } = result;
  const { targets, edges, isolated } = card.counts;
  const recall = await recallOf(engine);
  const milliseconds = (1_000 * card.processor_seconds) / targets;
  const policy = card.qualification_id === null ? 'exhaustive' : 'approximate';
  console.log(
    `${targets} proteins, ${edges} pairs (${isolated} proteins without any), ${policy} policy: ` +
      `${card.processor_seconds.toFixed(1)} s of processor time, ${milliseconds.toFixed(1)} ms a protein` +
      `${isKnown ? ' (of an earlier call)' : `; ${wallSeconds.toFixed(1)} s on the clock`}; ` +
      `${(card.edges.size_bytes / 1e6).toFixed(2)} MB`,
  );
  console.log(
    `share of the neighbours of exhaustive searches: ${recall.toFixed(4)} (${CHECKED_QUERIES} queries)`,
  );
  return {
    proteins: targets,
    pairs: edges,
    isolated,
    policy,
    processor_seconds: card.processor_seconds,
    milliseconds_a_protein: milliseconds,
    bytes: card.edges.size_bytes,
    recall,
  };
}

/** Share of the best 100 other targets with E ≤ 10, among all targets, that the graph has. */
async function recallOf(engine: SearchEngine): Promise<number> {
  const { release } = engine;
  const neighbours = await readNeighbours(release);
  assert(neighbours !== undefined, 'the graph was computed');
  const { graph, card } = neighbours;
  const queries = spaced(
    Array.from({ length: release.targets.count }, (_, target) => target),
    CHECKED_QUERIES,
  );
  let [expected, found] = [0, 0];
  for (const query of queries) {
    const [{ candidates }] = await searchMany(
      [{ sequence: release.targets.sequence(query), normalizationId: release.manifest.normalization_id }],
      {
        targetSpace: unfilteredSpace(release),
        limit: Math.min(10_000, release.targets.count),
        evidence: 'candidate_measurement',
        guarantee: 'exhaustive',
        significance: 'if_available',
      },
      engine,
    );
    const best = candidates
      .filter((one) => one.targetIndex !== query && (eValueOf(one) ?? Infinity) <= card.max_expected)
      .sort((a, b) => eValueOf(a)! - eValueOf(b)! || a.targetIndex - b.targetIndex)
      .slice(0, card.limit);
    const row = new Set(graph.targets.subarray(graph.offsets[query], graph.offsets[query + 1]));
    expected += best.length;
    found += best.filter(({ targetIndex }) => row.has(targetIndex)).length;
  }
  return expected === 0 ? 1 : found / expected;
}
