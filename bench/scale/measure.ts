import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Qualification } from '../../src/recall/policy-sidecar.js';
import type { ApplianceConfig } from '../../src/config.js';
import type { Encoder } from '../../src/encoder/encoder.js';
import { openMeasuringEngine } from '../../src/engine/open-engine.js';
import { assert } from '../../src/errors.js';
import { buildRelease } from '../../src/build-release/release.js';
import type { KernelBackend } from '../../src/kernels/kernels.js';
import { openRelease } from '../../src/release/open.js';
import type { Release } from '../../src/release/release.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { search } from '../../src/search/search.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import { PLANTED, randomEncoder, randomInput } from '../size/release.js';
import { median } from '../tools/statistics.js';
import type { Shape } from './model.js';

/** Costs of one random release. */
export interface Measured {
  readonly shape: Shape;
  readonly writeSeconds: number;
  readonly diskBytes: number;
  readonly memoryBytes: number;
  readonly exhaustiveSeconds: number;
  readonly sampledSeconds: number;
}

export interface Place {
  readonly folder: string;
  readonly encoder: Encoder;
  readonly backend: KernelBackend;
  readonly config: ApplianceConfig;
}

const SEED = 20_261_122;
const SEARCHES = 5;

/**
 * Numbers of candidates to rescore with which `uniprot-sample` was qualified. Random proteins have no card of their
 * own.
 */
const FINALISTS = { nearest_count: 500, striking_count: 1_000 };

/** Builds a release of random proteins with random tokens, opens and searches it. */
export async function measureRelease(
  name: string,
  shape: Shape,
  { folder, encoder, backend, config }: Place,
  searches = SEARCHES,
): Promise<Measured> {
  const mean = shape.residues / shape.proteins;
  const lengths = { least: Math.ceil(mean / 2), span: Math.ceil(mean) };
  const [writeSeconds, { release: built }] = await timed(() =>
    buildRelease({
      indexesFolder: folder,
      slug: name,
      isSimulated: true,
      input: randomInput(SEED, shape.residues, lengths),
      encoder: randomEncoder(encoder, SEED),
    }),
  );
  const release = await openRelease(built.directory);
  const engine = await openMeasuringEngine({ release, encoder, backend, threads: config.threads });
  try {
    const { targets, residues } = release.manifest.counts;
    const qualification = {
      id: 'qual_bench',
      card: { policy: FINALISTS },
    } as Qualification;
    return {
      shape: { proteins: targets, residues },
      writeSeconds,
      diskBytes: await folderBytes(release.directory),
      memoryBytes: await openedBytes(release.directory),
      exhaustiveSeconds: await searchSeconds(engine, 'exhaustive', searches),
      sampledSeconds: await searchSeconds({ ...engine, qualification }, 'approximate', searches),
    };
  } finally {
    engine.store.close();
  }
}

/** Median of several searches for the planted protein, after a warm-up search. Unit  seconds */
async function searchSeconds(
  engine: SearchEngine & { readonly release: Release },
  guarantee: 'exhaustive' | 'approximate',
  searches: number,
): Promise<number> {
  const request = {
    query: { sequence: PLANTED, normalizationId: NORMALIZATION_ID },
    targetSpace: unfilteredSpace(engine.release),
    limit: 100,
    evidence: 'candidate_measurement',
    guarantee,
    significance: 'not_requested',
  } as const;
  const times: number[] = [];
  for (let round = 0; round <= searches; round += 1) {
    const [seconds, { candidates }] = await timed(() => search(request, engine));
    assert(candidates[0].targetIndex === 0, 'the planted protein is found first');
    if (round > 0) times.push(seconds);
  }
  return median(times);
}

/** Encoder time per residue on all cores, for proteins of usual length. Unit  seconds */
export async function encodeSeconds({ encoder }: Place): Promise<number> {
  const proteins = Array.from({ length: 192 }, () => PLANTED);
  await encoder.encode(proteins.slice(0, 16));
  const [seconds] = await timed(() => encoder.encode(proteins));
  return seconds / (proteins.length * PLANTED.length);
}

/** Memory of a process with an open release, without mapped files. Unit  bytes */
async function openedBytes(directory: string): Promise<number> {
  const program = fileURLToPath(new URL('opened.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, directory]);
  return Number(stdout);
}

async function timed<Value>(work: () => Promise<Value>): Promise<[number, Value]> {
  const startedMs = performance.now();
  const value = await work();
  return [(performance.now() - startedMs) / 1000, value];
}

async function folderBytes(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(names.map((name) => stat(join(folder, name))));
  return sizes.reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0);
}
