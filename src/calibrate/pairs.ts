import { mkdir, open, readFile, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../canonical.js';
import type { KernelBackend, KernelOptions, TokenStore } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import { affineParameters, targetTexts } from '../search/affine.js';
import type { TokenReader } from './tokens.js';

/**
 * Kernel results of every unordered pair of a sample of targets: row i holds its pairs with i + 1, i + 2, …
 * Shape  [count × (count − 1) ÷ 2] each
 */
export interface PairScores {
  readonly affine: Int32Array;
  readonly forwardSums: Int32Array;
  readonly backwardSums: Int32Array;
}

/** Where the pairs of a row start. */
export function pairStart(row: number, count: number): number {
  return (row * (2 * count - row - 1)) / 2;
}

export interface PairScoring {
  readonly release: Release;
  readonly backend: KernelBackend;
  readonly store: TokenStore;
  readonly reader: TokenReader;
  /** Ascending target indices. */
  readonly sample: Uint32Array;
  /** What is scored is kept here until the calibration is done, so that a killed one goes on from there. */
  readonly workFolder: string;
  /** All that the scores depend on; scores kept under another plan are thrown away. */
  readonly plan: unknown;
  readonly options: KernelOptions;
  readonly onPairs: (done: number, total: number) => void;
}

const PLAN_FILE = 'plan.json';
const SCORES_FILE = 'scores.i32';
const VALUES_PER_PAIR = 3;
const BYTES_PER_VALUE = 4;

/** Errors  Fault of the kernels or the file; the signal's reason between two rows */
export async function scorePairs(scoring: PairScoring): Promise<PairScores> {
  const { sample, onPairs } = scoring;
  const total = pairStart(sample.length, sample.length);
  const file = await openScores(scoring);
  const texts = createTexts(scoring);
  try {
    let row = await rowsKept(file, sample.length);
    onPairs(pairStart(row, sample.length), total);
    let position = pairStart(row, sample.length) * VALUES_PER_PAIR * BYTES_PER_VALUE;
    for (; row < sample.length - 1; row += 1) {
      scoring.options.signal?.throwIfAborted();
      const values = await scoreRow(scoring, row, texts);
      await file.write(values, 0, values.byteLength, position);
      position += values.byteLength;
      onPairs(pairStart(row + 1, sample.length), total);
    }
    return await readScores(file, sample.length);
  } finally {
    await file.close();
  }
}

async function scoreRow(scoring: PairScoring, row: number, texts: TextsFrom): Promise<Int32Array> {
  const { backend, store, release, reader, sample, options } = scoring;
  const tokens = await reader.read(sample[row]);
  const others = sample.slice(row + 1);
  const own = { sequence: release.targets.sequence(sample[row]), tokens };
  const parameters = affineParameters(release, own, others, texts(row + 1));
  const affine = await backend.affineScores(store, tokens, others, parameters, options);
  const [sums] = await backend.maxsim(store, [tokens], others, options);
  const values = new Int32Array(others.length * VALUES_PER_PAIR);
  values.set(affine);
  values.set(sums.queryToTarget, others.length);
  values.set(sums.targetToQuery, 2 * others.length);
  return values;
}

/** Sequences of the sample from a row on: every row meets a tail of the same text. */
type TextsFrom = (row: number) => Uint8Array;

function createTexts({ release, sample }: PairScoring): TextsFrom {
  const all = targetTexts(release, sample);
  let start = 0;
  const starts = [0, ...Array.from(sample, (target) => (start += release.targets.length(target)))];
  return (row) => all.subarray(starts[row]);
}

async function openScores({ workFolder, plan }: PairScoring): Promise<FileHandle> {
  await mkdir(workFolder, { recursive: true });
  const planPath = join(workFolder, PLAN_FILE);
  const wanted = canonicalJson(plan);
  const kept = await readFile(planPath, 'utf8').catch(() => undefined);
  const path = join(workFolder, SCORES_FILE);
  if (kept === wanted) return open(path, 'r+');
  const file = await open(path, 'w+');
  await writeFile(planPath, wanted);
  return file;
}

/** Complete rows in the file; the bytes of a row that was cut off are written again. */
async function rowsKept(file: FileHandle, count: number): Promise<number> {
  const { size } = await file.stat();
  let row = 0;
  while (row < count - 1 && pairStart(row + 1, count) * VALUES_PER_PAIR * BYTES_PER_VALUE <= size) row += 1;
  return row;
}

async function readScores(file: FileHandle, count: number): Promise<PairScores> {
  const total = pairStart(count, count);
  const all = new Int32Array(total * VALUES_PER_PAIR);
  await file.read(new Uint8Array(all.buffer), 0, all.byteLength, 0);
  const scores = {
    affine: new Int32Array(total),
    forwardSums: new Int32Array(total),
    backwardSums: new Int32Array(total),
  };
  for (let row = 0; row < count - 1; row += 1) {
    const at = pairStart(row, count);
    const width = count - 1 - row;
    const from = at * VALUES_PER_PAIR;
    scores.affine.set(all.subarray(from, from + width), at);
    scores.forwardSums.set(all.subarray(from + width, from + 2 * width), at);
    scores.backwardSums.set(all.subarray(from + 2 * width, from + 3 * width), at);
  }
  return scores;
}
