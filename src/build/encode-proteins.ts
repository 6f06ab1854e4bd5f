import { open, readFile, statfs, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '../errors.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { TOKENS_FILE, tokensFrame } from '../release/format.js';
import { openHashedFile, type HashedFile } from '../release/hashed-file.js';
import type { FileEntry } from '../release/release.js';
import type { Encoder, EncoderCard } from '../search/encoder.js';
import { diagonalSelfScore } from '../search/self-score.js';
import { readState, writeState, type BuildFolder } from './build-folder.js';
import { readProteinSpool, type SpooledProtein } from './protein-spool.js';
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

interface Window {
  readonly proteins: readonly SpooledProtein[];
  readonly residues: number;
  readonly endOffset: number;
}

const SCORE_BYTES = 4;
/** Enough proteins to keep many threads busy and few enough that a kill costs little. */
const WINDOW_RESIDUES = 65_536;
/** While one window is written the next ones are encoded. Bounds the tokens held: 4 × 131,070 × 256 bytes. */
const WINDOWS_AHEAD = 4;
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
  const file = await openHashedFile(join(folder.release, TOKENS_FILE), keptBytes);
  const scores = await open(folder.scores, from.targets === 0 ? 'w+' : 'r+');
  try {
    if (keptBytes === 0) await file.write(frame.start);
    await encodeWindows(encoder, from, { file, scores, folder, options });
    await file.write(frame.end);
    const tokens = await file.finish();
    const { targets, residues, spoolBytes: spoolOffset } = corpus;
    await writeState(folder.encoded, { targets, residues, spoolOffset, tokens } satisfies Checkpoint);
    return { tokens, encodedResidues: residues - from.residues };
  } catch (cause) {
    await file.abandon();
    throw cause;
  } finally {
    await scores.close();
  }
}

/** Self scores in the order of the targets, as encodeProteins left them. */
export async function readSelfScores(folder: BuildFolder): Promise<Int32Array> {
  const bytes = await readFile(folder.scores);
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / SCORE_BYTES);
}

interface Sink {
  readonly file: HashedFile;
  readonly scores: FileHandle;
  readonly folder: BuildFolder;
  readonly options: EncodeOptions;
}

async function encodeWindows(encoder: Encoder, from: Checkpoint, sink: Sink): Promise<void> {
  const { file, scores, folder, options } = sink;
  const { signal } = options;
  const ahead: { window: Window; encoded: Promise<readonly QueryTokens[]> }[] = [];
  const checkpoints = createCheckpoints(sink);
  let done = from;
  options.onResidues(done.residues);
  const writeFirst = async (): Promise<void> => {
    const { window, encoded } = ahead[0];
    const proteins = await encoded;
    ahead.shift();
    const selfScores = Int32Array.from(proteins, (rows) => selfScoreOf(rows, encoder.card));
    for (const { values } of proteins) {
      await file.write(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    }
    await scores.write(new Uint8Array(selfScores.buffer), 0, undefined, done.targets * SCORE_BYTES);
    const { targets, residues } = done;
    done = {
      targets: targets + proteins.length,
      residues: residues + window.residues,
      spoolOffset: window.endOffset,
    };
    options.onResidues(done.residues);
    await checkpoints.offer(done);
  };
  for await (const window of readWindows(folder.spool, from.spoolOffset)) {
    signal?.throwIfAborted();
    const encoded = encoder.encode(
      window.proteins.map(({ sequence }) => sequence),
      { signal },
    );
    // It is awaited in its turn; until then its failure must not count as unhandled.
    encoded.catch(() => undefined);
    ahead.push({ window, encoded });
    if (ahead.length === WINDOWS_AHEAD) await writeFirst();
  }
  while (ahead.length > 0) await writeFirst();
  await checkpoints.settle();
  await scores.sync();
}

/** Saves every few seconds how far everything has reached the disk, beside the encoding that goes on. */
function createCheckpoints({ file, scores, folder }: Sink) {
  let startedAtMs = performance.now();
  let saving: Promise<void> | undefined;
  const save = async (state: Checkpoint): Promise<void> => {
    await file.sync();
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

function selfScoreOf(rows: QueryTokens, { dimension, affine }: EncoderCard): number {
  const { multiplier, offset, gap_open: gapOpen, gap_extend: gapExtend } = affine;
  return diagonalSelfScore(rows, dimension, { multiplier, offset, gapOpen, gapExtend });
}

async function* readWindows(spoolPath: string, startOffset: number): AsyncGenerator<Window> {
  let proteins: SpooledProtein[] = [];
  let [residues, endOffset] = [0, startOffset];
  for await (const line of readProteinSpool(spoolPath, startOffset)) {
    proteins.push(line.protein);
    residues += line.protein.sequence.length;
    endOffset = line.endOffset;
    if (residues < WINDOW_RESIDUES) continue;
    yield { proteins, residues, endOffset };
    proteins = [];
    residues = 0;
  }
  if (proteins.length > 0) yield { proteins, residues, endOffset };
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
