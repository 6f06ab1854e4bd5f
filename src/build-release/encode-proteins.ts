import { setMaxListeners } from 'node:events';
import { statfs } from 'node:fs/promises';
import { assert, Refusal } from '../errors.js';
import { PROFILE_WIDTH } from '../kernels/kernels.js';
import { affineOf } from '../release/open.js';
import type { ReleaseAffine, HomologsManifest } from '../release/release.js';
import { diagonalSelfScore } from '../search/pairs/affine.js';
import { readState, writeState } from './build-folder.js';
import {
  abandonEncodedFiles,
  finishEncodedFiles,
  openEncodedFiles,
  syncEncodedFiles,
  type EncodedEntries,
  type EncodedFiles,
  type EncodeFolder,
} from './encoded-files.js';
import { damagedSpool, readProteinSpool, type SpooledLine } from './protein-spool.js';
import type { BuiltTokens, ProteinTokens } from './protein-tokens.js';
import type { Corpus } from './read-proteins.js';

/** Consecutive proteins of the spool. */
export interface SpoolRange {
  readonly targets: number;
  readonly residues: number;
  /** Byte range of their lines in the spool, half-open. */
  readonly startOffset: number;
  readonly endOffset: number;
}

export interface EncodeOptions {
  readonly signal?: AbortSignal;
  /** Whether an earlier release has the tokens of this sequence; undefined if no release is reused. */
  readonly isKnown?: (sequence: string) => boolean;
  /** Receives the number of encoded residues, those of an interrupted run included. */
  readonly onResidues: (residues: number) => void;
}

export interface EncodeResult extends EncodedEntries {
  /** Number of proteins with homologs, and of homologs in all profiles. */
  readonly related: RelatedCounts;
  /** Residues that this run encoded. */
  readonly encodedResidues: number;
  readonly reusedResidues: number;
}

export type RelatedCounts = HomologsManifest['counts'];

/** State of encoding. Everything before these counts is durable. */
interface Checkpoint {
  /** Counts within the range; only the offset refers to the whole spool. */
  readonly targets: number;
  readonly residues: number;
  readonly spoolOffset: number;
  readonly related: RelatedCounts;
  /** Defined when the whole range is encoded. */
  readonly files?: EncodedEntries;
}

const CHECKPOINT_MEMBERS = ['targets', 'residues', 'spoolOffset', 'related'] as const;
/** Limit on residues in calls that are not written yet. */
const AHEAD_MAX_RESIDUES = 131_072;
const CHECKPOINT_INTERVAL_MS = 1_000;
/** Limit on residues in one call, whose tokens stay in memory until they are written. */
const BATCH_MAX_RESIDUES = 1_048_576;
/** Counts of proteins without homologs. */
export const NO_RELATED: RelatedCounts = { targets: 0, relatives: 0 };

/**
 * Encodes a range of the spooled proteins, in order, from the last checkpoint. Writes tokens.arrow and self-scores;
 * with homologs also profiles.arrow and families.f64. A protein's tokens depend only on the protein and the manifest,
 * so an interruption does not change the result.
 * Errors  Refusal `disk_full` at the start if the disk has too little free space; Fault where the spool has not the
 *         proteins of the range; those of encoder, finder and file system; the signal's reason
 * Cost    those of encoder and finder; after an interruption also one read of the files written so far, for their
 *         digest
 */
export async function encodeProteins(
  source: ProteinTokens,
  range: SpoolRange,
  folder: EncodeFolder,
  options: EncodeOptions,
): Promise<EncodeResult> {
  const from = (await readState<Checkpoint>(folder.encoded, CHECKPOINT_MEMBERS)) ?? startOf(range);
  if (from.files !== undefined) {
    return { ...from.files, related: from.related, encodedResidues: 0, reusedResidues: 0 };
  }
  const { dimension, hasProfiles } = source;
  const rowBytes = dimension + (hasProfiles ? PROFILE_WIDTH : 0);
  const tableBytes = range.endOffset - range.startOffset;
  await checkSpace(folder.release, (range.residues - from.residues) * rowBytes + tableBytes);
  const files = await openEncodedFiles(source, range, folder, from);
  try {
    const { targets, residues, related, reusedResidues } = await encodeFrom(from, source, {
      files,
      folder,
      endOffset: range.endOffset,
      options,
    });
    if (targets !== range.targets || residues !== range.residues) throw damagedSpool(folder.spool);
    const entries = await finishEncodedFiles(files);
    await writeEncoded(range, folder, entries, related);
    const encodedResidues = range.residues - from.residues - reusedResidues;
    return { ...entries, related, encodedResidues, reusedResidues };
  } catch (cause) {
    await abandonEncodedFiles(files);
    throw cause;
  }
}

/** Writes the final checkpoint of a range, which is then never encoded again. Errors  errors of the file system */
export async function writeEncoded(
  { targets, residues, endOffset: spoolOffset }: SpoolRange,
  folder: Pick<EncodeFolder, 'encoded'>,
  files: EncodedEntries,
  related: RelatedCounts,
): Promise<void> {
  const end: Checkpoint = { targets, residues, spoolOffset, related, files };
  await writeState(folder.encoded, end);
}

/** Reads the checkpoint of a range; undefined if there is none yet. Errors  those of readState */
export function readEncoded(
  folder: Pick<EncodeFolder, 'encoded'>,
): Promise<Omit<Checkpoint, 'spoolOffset'> | undefined> {
  return readState<Checkpoint>(folder.encoded, CHECKPOINT_MEMBERS);
}

/** Returns the range of all proteins of a build. */
export function wholeOf({ targets, residues, spoolBytes }: Corpus): SpoolRange {
  return { targets, residues, startOffset: 0, endOffset: spoolBytes };
}

function startOf({ startOffset: spoolOffset }: SpoolRange): Checkpoint {
  return { targets: 0, residues: 0, spoolOffset, related: NO_RELATED };
}

interface Sink {
  readonly files: EncodedFiles;
  readonly folder: EncodeFolder;
  readonly endOffset: number;
  readonly options: EncodeOptions;
}

/** Proteins of one call, whose result may be pending. */
interface Batch {
  readonly lines: readonly SpooledLine[];
  readonly encoded: Promise<readonly BuiltTokens[]>;
}

/** Encodes several batches at a time and writes their results in order. */
async function encodeFrom(
  from: Checkpoint,
  source: ProteinTokens,
  sink: Sink,
): Promise<Checkpoint & Pick<EncodeResult, 'reusedResidues'>> {
  const { folder, endOffset, options } = sink;
  const { signal } = options;
  // Every pending call adds listeners, so that their number can exceed Node's default limit.
  if (signal !== undefined) setMaxListeners(0, signal);
  const checkpoints = createCheckpoints(sink);
  const affine = affineOf(source.affine);
  const ahead: Batch[] = [];
  let aheadResidues = 0;
  let done = from;
  let reusedResidues = 0;
  options.onResidues(done.residues);
  const writeFirst = async (): Promise<void> => {
    const { lines, encoded } = ahead[0];
    const built = await encoded;
    ahead.shift();
    for (const [index, line] of lines.entries()) {
      aheadResidues -= line.protein.sequence.length;
      await writeProtein(line, built[index], sink.files, source.dimension, affine);
      done = advance(done, line, built[index]);
      if (options.isKnown?.(line.protein.sequence) === true) reusedResidues += line.protein.sequence.length;
    }
    options.onResidues(done.residues);
    await checkpoints.offer(done);
  };
  const range = { from: from.spoolOffset, to: endOffset };
  for await (const lines of batches(folder, range, source.batchProteins, options.isKnown)) {
    signal?.throwIfAborted();
    const encoded = source.encode(
      lines.map(({ protein }) => protein),
      signal,
    );
    // The promise is awaited later. Without this handler an earlier failure would be an unhandled rejection.
    encoded.catch(() => undefined);
    ahead.push({ lines, encoded });
    for (const { protein } of lines) aheadResidues += protein.sequence.length;
    while (ahead.length > 0 && (ahead.length > source.aheadBatches || aheadResidues > AHEAD_MAX_RESIDUES)) {
      await writeFirst();
    }
  }
  while (ahead.length > 0) await writeFirst();
  await checkpoints.settle();
  return { ...done, reusedResidues };
}

/** Yields batches with `count` proteins to encode, together with the already known proteins between them. */
async function* batches(
  folder: EncodeFolder,
  { from, to }: { readonly from: number; readonly to: number },
  count: number,
  isKnown: EncodeOptions['isKnown'],
): AsyncGenerator<readonly SpooledLine[]> {
  let lines: SpooledLine[] = [];
  let [unknown, residues] = [0, 0];
  for await (const line of readProteinSpool(folder.spool, from, to)) {
    const { sequence } = line.protein;
    lines.push(line);
    unknown += isKnown?.(sequence) === true ? 0 : 1;
    residues += sequence.length;
    if (unknown < count && residues < BATCH_MAX_RESIDUES) continue;
    yield lines;
    [lines, unknown, residues] = [[], 0, 0];
  }
  if (lines.length > 0) yield lines;
}

async function writeProtein(
  { protein }: SpooledLine,
  { tokens, relatives: homologs }: BuiltTokens,
  files: EncodedFiles,
  dimension: number,
  affine: ReleaseAffine,
): Promise<void> {
  await files.tokens.write(bytesOf(tokens.values));
  if (files.profiles !== undefined) {
    const { profile, effectiveSequences } = tokens;
    assert(profile && effectiveSequences, 'every protein of a release with profiles has a profile');
    await files.profiles.write(bytesOf(profile));
    await files.homologSets?.write(bytesOf(Float64Array.of(homologs, effectiveSequences)));
  }
  const selfScore = diagonalSelfScore(tokens, protein.sequence, dimension, affine);
  await files.scores.write(bytesOf(Int32Array.of(selfScore)));
}

function advance(
  done: Checkpoint,
  line: SpooledLine,
  { tokens, relatives: homologs }: BuiltTokens,
): Checkpoint {
  return {
    targets: done.targets + 1,
    residues: done.residues + tokens.length,
    spoolOffset: line.endOffset,
    related: {
      targets: done.related.targets + (homologs > 0 ? 1 : 0),
      relatives: done.related.relatives + homologs,
    },
  };
}

/** Writes a checkpoint about every second while encoding continues. */
function createCheckpoints({ files, folder }: Sink) {
  let startedAtMs = performance.now();
  let saving: Promise<void> | undefined;
  const save = async (state: Checkpoint): Promise<void> => {
    await syncEncodedFiles(files);
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
      // The next checkpoint awaits this promise. Without this handler a failure would be an unhandled rejection.
      saving.catch(() => undefined);
    },
  };
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

async function checkSpace(folder: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= neededBytes) return;
  throw new Refusal(
    'disk_full',
    `The release needs ${inMegabytes(neededBytes)} more in ${folder}, which has ${inMegabytes(bavail * bsize)} free. ` +
      'Free some space, or move the indexes folder, and run the same command again.',
    { needed_bytes: neededBytes, free_bytes: bavail * bsize },
  );
}

function inMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`;
}
