import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildRelease } from '../../src/build-release/release.js';
import { loadConfig, type ApplianceConfig } from '../../src/config.js';
import { openMeasuringEngine } from '../../src/engine/open-engine.js';
import { assert } from '../../src/errors.js';
import { backendChoiceOf, chooseBackend } from '../../src/kernels/choose.js';
import { openRelease } from '../../src/release/open.js';
import type { Release } from '../../src/release/release.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { verifyRelease } from '../../src/release/verify.js';
import { findEncoder } from '../../src/encoder/find.js';
import { loadEncoder } from '../../src/encoder/load.js';
import type { Encoder } from '../../src/encoder/encoder.js';
import { search } from '../../src/search/search.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import type { Bench } from '../main.js';
import { PLANTED, randomEncoder, randomInput } from './release.js';
import { anonymousBytes } from '../tools/memory.js';
import { median } from '../tools/statistics.js';

/*
 * Can a release with a token file over 5 GiB, or over a given number of GiB, be built, verified, opened and searched,
 * and at which cost? Tokens are random except for one planted protein, which every search must rank first. Memory is
 * anonymous resident memory, because the system can drop pages of the mapped file.
 */

const DEFAULT_GIBIBYTES = 5.1;
const SEARCHES = 5;
const SEED = 20_260_808;
const GIB = 1024 ** 3;

export const run: Bench = async ([gibibytes = String(DEFAULT_GIBIBYTES), encoderId]) => {
  const config = loadConfig(process.env);
  const directory = await findEncoder(encoderId ?? config.encoder, config);
  const encoder = await loadEncoder(directory, { threads: config.threads, device: config.encoderDevice });
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-size-'));
  try {
    const residues = Math.ceil((Number(gibibytes) * GIB) / encoder.card.dimension);
    const built = await timed('build', () => buildAndWatch(folder, encoder, residues));
    const { peakBytes, directory: release } = built.value;
    const verified = await timed('verify', () => verifyRelease(release));
    assert(verified.value.isIntact, 'a new release is intact');
    const before = anonymousBytes();
    const opened = await timed('open', () => openRelease(release));
    const openBytes = anonymousBytes() - before;
    assert(opened.value.targets.find('planted') === 0, 'the planted protein is the first');
    const searches = await searchPlanted(opened.value, encoder, config);
    const { manifest } = opened.value;
    const figures = {
      token_file_bytes: manifest.files.tokens.size_bytes,
      targets: manifest.counts.targets,
      residues: manifest.counts.residues,
      encoder: encoder.card.id,
      build_seconds: built.ms / 1000,
      build_peak_memory_above_encoder_bytes: peakBytes,
      verify_seconds: verified.ms / 1000,
      open_ms: opened.ms,
      open_memory_bytes: openBytes,
      ...searches,
    };
    for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(40)} ${String(value)}`);
    return figures;
  } finally {
    await encoder.close();
    await rm(folder, { recursive: true });
  }
};

async function buildAndWatch(indexesFolder: string, encoder: Encoder, residues: number) {
  const before = anonymousBytes();
  let peak = before;
  const sampler = setInterval(() => (peak = Math.max(peak, anonymousBytes())), 50);
  const { release } = await buildRelease({
    indexesFolder,
    slug: 'size',
    isSimulated: true,
    input: randomInput(SEED, residues),
    encoder: randomEncoder(encoder, SEED),
  });
  clearInterval(sampler);
  return { directory: release.directory, peakBytes: peak - before };
}

async function searchPlanted(release: Release, encoder: Encoder, config: ApplianceConfig) {
  const backend = await chooseBackend(backendChoiceOf(config));
  const engine = await openMeasuringEngine({ release, encoder, backend, threads: config.threads });
  const request = {
    query: { sequence: PLANTED, normalizationId: NORMALIZATION_ID },
    targetSpace: unfilteredSpace(release),
    limit: 100,
    evidence: 'candidate_measurement',
    guarantee: 'exhaustive',
    significance: 'not_requested',
  } as const;
  const times: number[] = [];
  try {
    for (let at = 0; at <= SEARCHES; at += 1) {
      const { ms, value } = await timed(at === 0 ? 'first search' : 'search', () => search(request, engine));
      assert(value.candidates[0].targetIndex === 0, 'the planted protein is found first');
      times.push(ms);
    }
  } finally {
    engine.store.close();
  }
  return {
    kernels: backend.variant,
    query_residues: PLANTED.length,
    first_search_ms: times[0],
    search_p50_ms: median(times.slice(1)),
    resident_anonymous_bytes: anonymousBytes(),
    resident_bytes: process.memoryUsage.rss(),
  };
}

async function timed<Value>(name: string, work: () => Promise<Value>): Promise<{ ms: number; value: Value }> {
  const startedMs = performance.now();
  const value = await work();
  const ms = performance.now() - startedMs;
  console.log(`${name.padEnd(40)} ${(ms / 1000).toFixed(2)} s`);
  return { ms, value };
}
