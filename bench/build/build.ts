import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesInput } from '../../src/build-release/sources/input-files.js';
import { buildRelease } from '../../src/build-release/release.js';
import { loadConfig } from '../../src/config.js';
import { assert } from '../../src/errors.js';
import { openRelease } from '../../src/release/open.js';
import { verifyRelease } from '../../src/release/verify.js';
import { findEncoder } from '../../src/encoder/find.js';
import { loadEncoder } from '../../src/encoder/load.js';
import type { Encoder } from '../../src/encoder/encoder.js';
import type { Bench } from '../main.js';
import { readProteins, writeFasta, type BenchProtein } from '../tools/proteins.js';
import { median } from '../tools/statistics.js';

/*
 * How fast is a database built, which share of the encoder's throughput is that, and how much memory does the build
 * need? Encoder alone and build alternate in one run on the same proteins. The build's time is complete: hashing,
 * reading, encoding, writing, syncing. Memory is the resident set above that of a process that only encodes.
 */

const ROUNDS = 3;
/** About ten seconds a round with the shipped encoder on two cores. */
const RESIDUES = 250_000;
const SAMPLE_INTERVAL_MS = 20;

export const run: Bench = async (options) => {
  const { list, source } = await readProteins(options[0]);
  const proteins = takeResidues(list, RESIDUES);
  const residues = proteins.reduce((sum, { sequence }) => sum + sequence.length, 0);
  const config = loadConfig(process.env);
  const directory = await findEncoder(options[1] ?? config.encoder, config);
  const encoder = await loadEncoder(directory, { threads: config.threads, device: config.encoderDevice });
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-build-'));
  try {
    const fasta = join(folder, 'proteins.fasta');
    await writeFasta(fasta, proteins);
    await checkBuild(fasta, proteins, encoder, join(folder, 'checked'));
    console.log(`${source}: ${proteins.length} proteins, ${residues} residues; encoder ${encoder.card.id}`);
    console.log('  round   encoder alone       build   share   memory above the encoder');
    const rounds: Round[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const figures = await measure(fasta, proteins, encoder, join(folder, `round-${round}`));
      rounds.push(figures);
      console.log(describe(String(round), residues, figures));
    }
    const middle = (figure: (round: Round) => number): number => median(rounds.map(figure));
    const total = {
      encodeMs: middle((round) => round.encodeMs),
      buildMs: middle((round) => round.buildMs),
      peakBytes: Math.max(...rounds.map((round) => round.peakBytes)),
    };
    console.log(describe('median', residues, total));
    return {
      source,
      encoder: encoder.card.id,
      proteins: proteins.length,
      residues,
      build_residues_per_second: Math.round((residues * 1000) / total.buildMs),
      encoder_residues_per_second: Math.round((residues * 1000) / total.encodeMs),
      share_of_encoder: total.encodeMs / total.buildMs,
      peak_memory_above_encoder_bytes: total.peakBytes,
    };
  } finally {
    await encoder.close();
    await rm(folder, { recursive: true });
  }
};

interface Round {
  readonly encodeMs: number;
  readonly buildMs: number;
  /** Largest resident set during the build minus the resident set before. */
  readonly peakBytes: number;
}

async function measure(
  fasta: string,
  proteins: readonly BenchProtein[],
  encoder: Encoder,
  indexesFolder: string,
): Promise<Round> {
  const encodeStartMs = performance.now();
  await encoder.encode(proteins.map(({ sequence }) => sequence));
  const encodeMs = performance.now() - encodeStartMs;
  const before = process.memoryUsage.rss();
  let peak = before;
  const sampler = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), SAMPLE_INTERVAL_MS);
  const buildStartMs = performance.now();
  await buildRelease({
    indexesFolder,
    slug: 'bench',
    input: await filesInput({ proteins: [fasta] }),
    encoder,
  });
  const buildMs = performance.now() - buildStartMs;
  clearInterval(sampler);
  await rm(indexesFolder, { recursive: true });
  return { encodeMs, buildMs, peakBytes: peak - before };
}

/** Checks that the release is intact and contains the tokens of the encoder alone. Errors  an assertion */
async function checkBuild(
  fasta: string,
  proteins: readonly BenchProtein[],
  encoder: Encoder,
  indexesFolder: string,
): Promise<void> {
  const input = await filesInput({ proteins: [fasta] });
  const { release } = await buildRelease({ indexesFolder, slug: 'bench', input, encoder });
  assert((await verifyRelease(release.directory)).isIntact, 'a new release is intact');
  const { targets, tokens } = await openRelease(release.directory);
  assert(targets.count === proteins.length, 'every protein is a target');
  const { path, byteOffset } = tokens.tokens as { path: string; byteOffset: number };
  const file = await readFile(path);
  for (const target of [0, Math.floor(targets.count / 2), targets.count - 1]) {
    const [{ values }] = await encoder.encode([proteins[target].sequence]);
    const start = byteOffset + tokens.residueStarts[target] * tokens.dimension;
    const stored = file.subarray(start, start + values.length);
    assert(stored.equals(new Uint8Array(values.buffer)), `target ${target} holds the encoder's tokens`);
  }
  await rm(indexesFolder, { recursive: true });
}

function takeResidues(list: readonly BenchProtein[], most: number): readonly BenchProtein[] {
  let residues = 0;
  return list.filter(({ sequence }) => (residues += sequence.length) <= most);
}

function describe(name: string, residues: number, { encodeMs, buildMs, peakBytes }: Round): string {
  const rate = (ms: number): string => `${(residues / ms).toFixed(0)} k/s`;
  const share = `${((100 * encodeMs) / buildMs).toFixed(0)} %`;
  const memory = `${(peakBytes / 1e6).toFixed(0)} MB`;
  const cells = [
    rate(encodeMs).padStart(16),
    rate(buildMs).padStart(12),
    share.padStart(8),
    memory.padStart(12),
  ];
  return `${name.padStart(7)}${cells.join('')}`;
}
