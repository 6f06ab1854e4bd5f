import type { KernelBackend, KernelOptions, TokenStore } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import { affineParameters, targetTexts } from '../search/pairs/affine.js';
import { profileScores } from '../search/pairs/profile-scores.js';
import type { TokenReader } from '../release/rows/token-reader.js';
import { runPhase, type CheckpointFolder } from './checkpoints.js';

/**
 * Kernel results of every unordered pair of a sample of targets. Row i holds the pairs of protein i with i + 1, i + 2,
 * …
 * Shape  [count × (count − 1) ÷ 2] each
 * Unit   affine: Smith–Waterman scores; sums: MaxSim sums of int8 products, from row to column protein and back;
 *        profile: scores of profiles, 0 without profiles
 */
export interface PairScores {
  readonly affine: Int32Array;
  readonly forwardSums: Int32Array;
  readonly backwardSums: Int32Array;
  readonly profile: Int32Array;
}

/** Returns the index of the first pair of a row. For row = count it is the number of all pairs. */
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
  readonly checkpoints: CheckpointFolder;
  readonly signal?: KernelOptions['signal'];
  readonly threads?: KernelOptions['threads'];
  readonly onPairs: (done: number, total: number) => void;
}

const VALUES_PER_PAIR = 4;

/**
 * Scores every unordered pair of a sample. Each row is a checkpoint.
 * Errors  Fault of kernels or token file; the signal's reason between two rows; those of the file system
 */
export async function scorePairs(scoring: PairScoring): Promise<PairScores> {
  const { sample, onPairs, checkpoints } = scoring;
  const count = sample.length;
  const total = pairStart(count, count);
  const texts = createTexts(scoring);
  const scores = {
    affine: new Int32Array(total),
    forwardSums: new Int32Array(total),
    backwardSums: new Int32Array(total),
    profile: new Int32Array(total),
  };
  await runPhase(checkpoints, {
    name: 'pairs',
    inputs: null,
    stepCount: count - 1,
    async step(row) {
      scoring.signal?.throwIfAborted();
      return scoreRow(scoring, row, texts);
    },
    take(record, row) {
      const [start, width] = [pairStart(row, count), count - 1 - row];
      const values = new Int32Array(record);
      scores.affine.set(values.subarray(0, width), start);
      scores.forwardSums.set(values.subarray(width, 2 * width), start);
      scores.backwardSums.set(values.subarray(2 * width, 3 * width), start);
      scores.profile.set(values.subarray(3 * width), start);
    },
    report: (rows) => onPairs(pairStart(rows, count), total),
  });
  return scores;
}

async function scoreRow(scoring: PairScoring, row: number, texts: TextsFrom): Promise<Int32Array> {
  const { backend, store, release, reader, sample, signal, threads } = scoring;
  const tokens = await reader.read(sample[row]);
  const others = sample.slice(row + 1);
  const own = { sequence: release.targets.sequence(sample[row]), tokens };
  const parameters = affineParameters(release, own, others, texts(row + 1));
  const measures = await backend.measure(store, tokens, others, parameters, { signal, threads });
  const values = new Int32Array(others.length * VALUES_PER_PAIR);
  values.set(await profileScores(store, tokens, others, backend, { signal, threads }), 3 * others.length);
  values.set(measures.scores);
  values.set(measures.queryToTarget, others.length);
  values.set(measures.targetToQuery, 2 * others.length);
  return values;
}

/** Returns the concatenated sequences of the sample from a row on, as a view of one buffer. */
type TextsFrom = (row: number) => Uint8Array;

function createTexts({ release, sample }: PairScoring): TextsFrom {
  const all = targetTexts(release, sample);
  let start = 0;
  const starts = [0, ...Array.from(sample, (target) => (start += release.targets.length(target)))];
  return (row) => all.subarray(starts[row]);
}
