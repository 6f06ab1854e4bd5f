import { setMaxListeners } from 'node:events';
import { readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '../errors.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { TOKENS_FILE, tokensFrame } from '../release/format.js';
import { openHashedFile, type HashedFile } from '../release/hashed-file.js';
import { affineOf } from '../release/open.js';
import type { FileEntry } from '../release/release.js';
import type { Encoder } from '../encoder/encoder.js';
import { diagonalSelfScore } from '../search/self-score.js';
import { readState, writeState, type BuildFolder } from './build-folder.js';
import { readProteinSpool, type SpooledLine } from './protein-spool.js';
import type { Corpus } from './read-proteins.js';

export interface EncodeOptions {
  readonly signal?: AbortSignal;
  /** Called with the residues that are encoded, those of an interrupted run before included. */
  readonly onResidues: (residues: number) => void;
}

export interface EncodeResult {
  readonly tokens: FileEntry;
  /** By this run. */
  readonly encodedResidues: number;
}

/** Everything before these counts is on the disk, whatever happens next. */
interface Checkpoint {
  readonly targets: number;
  readonly residues: number;
  readonly spoolOffset: number;
  /** Present when all is encoded. */
  readonly tokens?: FileEntry;
}

const SCORE_BYTES = 4;
/**
 * Handed to the encoder before the first of them is awaited: enough to hide a long protein among many
 * threads.
 */
const AHEAD_MAX_RESIDUES = 131_072;
const AHEAD_MAX_PROTEINS = 1_024;
const CHECKPOINT_INTERVAL_MS = 1_000;
const START: Checkpoint = { targets: 0, residues: 0, spoolOffset: 0 };

/**
 * Encodes the spooled proteins in order into tokens.arrow, and their self scores beside it, from the last
 * checkpoint on. A protein's tokens depend on nothing but the protein and the encoder, so it does not
 * matter where it was interrupted.
 * Errors  Refusal `disk_full` before it starts where the tokens cannot fit; the encoder's; the file system's
 * Cost    the encoder's, and a read of what an interrupted run had written, for its digest
 */
export async function encodeProteins(
  encoder: Encoder,
  corpus: Corpus,
  folder: BuildFolder,
  options: EncodeOptions,
): Promise<EncodeResult> {
  const from = (await readState<Checkpoint>(folder.encoded)) ?? START;
  if (from.tokens !== undefined) return { tokens: from.tokens, encodedResidues: 0 };
  const { dimension } = encoder.card;
  const frame = tokensFrame(dimension, corpus.residues);
  const keptBytes = from.residues === 0 ? 0 : frame.start.length + from.residues * dimension;
  await checkSpace(folder.release, frame.valuesByteLength - keptBytes + corpus.spoolBytes);
  const tokens = await openHashedFile(join(folder.release, TOKENS_FILE), keptBytes);
  const scores = await openHashedFile(folder.scores, from.targets * SCORE_BYTES);
  try {
    if (keptBytes === 0) await tokens.write(frame.start);
    await encodeFrom(from, encoder, { tokens, scores, folder, options });
    await tokens.write(frame.end);
    await scores.finish();
    const entry = await tokens.finish();
    const { targets, residues, spoolBytes: spoolOffset } = corpus;
    await writeState(folder.encoded, { targets, residues, spoolOffset, tokens: entry } satisfies Checkpoint);
    return { tokens: entry, encodedResidues: residues - from.residues };
  } catch (cause) {
    await Promise.all([tokens.abandon(), scores.abandon()]);
    throw cause;
  }
}

/** Self scores in the order of the targets, as encodeProteins left them. */
export async function readSelfScores(folder: BuildFolder): Promise<Int32Array> {
  const bytes = await readFile(folder.scores);
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / SCORE_BYTES);
}

interface Sink {
  readonly tokens: HashedFile;
  readonly scores: HashedFile;
  readonly folder: BuildFolder;
  readonly options: EncodeOptions;
}

/**
 * One call of the encoder for each protein: it serves calls in their order, so the first is finished first
 * and a kill costs little, however slow the encoder is.
 */
async function encodeFrom(from: Checkpoint, encoder: Encoder, sink: Sink): Promise<void> {
  const { tokens, scores, folder, options } = sink;
  const { signal } = options;
  // Every call that is ahead listens to it.
  if (signal !== undefined) setMaxListeners(AHEAD_MAX_PROTEINS + 1, signal);
  const checkpoints = createCheckpoints(sink);
  const affine = affineOf(encoder.card.affine);
  const ahead: { line: SpooledLine; encoded: Promise<readonly QueryTokens[]> }[] = [];
  let aheadResidues = 0;
  let done = from;
  options.onResidues(done.residues);
  const writeFirst = async (): Promise<void> => {
    const [{ line, encoded }] = ahead;
    const [rows] = await encoded;
    ahead.shift();
    aheadResidues -= rows.length;
    await tokens.write(bytesOf(rows.values));
    const selfScore = diagonalSelfScore(rows, line.protein.sequence, encoder.card.dimension, affine);
    await scores.write(bytesOf(Int32Array.of(selfScore)));
    done = {
      targets: done.targets + 1,
      residues: done.residues + rows.length,
      spoolOffset: line.endOffset,
    };
    options.onResidues(done.residues);
    await checkpoints.offer(done);
  };
  for await (const line of readProteinSpool(folder.spool, from.spoolOffset)) {
    signal?.throwIfAborted();
    const { sequence } = line.protein;
    const encoded = encoder.encode([sequence], { signal });
    // It is awaited in its turn; until then its failure must not count as unhandled.
    encoded.catch(() => undefined);
    ahead.push({ line, encoded });
    aheadResidues += sequence.length;
    while (aheadResidues > AHEAD_MAX_RESIDUES || ahead.length > AHEAD_MAX_PROTEINS) await writeFirst();
  }
  while (ahead.length > 0) await writeFirst();
  await checkpoints.settle();
}

/** Saves every few seconds how far everything has reached the disk, beside the encoding that goes on. */
function createCheckpoints({ tokens, scores, folder }: Sink) {
  let startedAtMs = performance.now();
  let saving: Promise<void> | undefined;
  const save = async (state: Checkpoint): Promise<void> => {
    await tokens.sync();
    await scores.sync();
    await writeState(folder.encoded, state);
  };
  const settle = async (): Promise<void> => {
    await saving;
    saving = undefined;
  };
  return {
    settle,
    async offer(state: Checkpoint): Promise<void> {
      if (performance.now() - startedAtMs < CHECKPOINT_INTERVAL_MS) return;
      await settle();
      startedAtMs = performance.now();
      saving = save(state);
      // It is awaited before the next one; until then its failure must not count as unhandled.
      saving.catch(() => undefined);
    },
  };
}

function bytesOf({ buffer, byteOffset, byteLength }: Int8Array | Int32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

async function checkSpace(folder: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= neededBytes) return;
  throw new Refusal(
    'disk_full',
    `The release needs ${inMegabytes(neededBytes)} more in ${folder}, where ${inMegabytes(bavail * bsize)} ` +
      'are free. Free some space, or move the indexes folder, and run the same command again.',
    { needed_bytes: neededBytes, free_bytes: bavail * bsize },
  );
}

function inMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`;
}
