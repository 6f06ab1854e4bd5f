import { setMaxListeners } from 'node:events';
import { statfs } from 'node:fs/promises';
import { assert, Refusal } from '../errors.js';
import { PROFILE_WIDTH } from '../kernels/kernels.js';
import { affineOf } from '../release/open.js';
import type { ReleaseAffine, RelativesManifest as HomologsManifest } from '../release/release.js';
import { diagonalSelfScore } from '../search/self-score.js';
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
import { readProteinSpool, type SpooledLine } from './protein-spool.js';
import type { BuiltTokens, ProteinTokens } from './protein-tokens.js';
import type { Corpus } from './read-proteins.js';

/** Proteins that follow each other in the spool. */
export interface SpoolRange {
  readonly targets: number;
  readonly residues: number;
  /** Where the line of the first starts, and that of the last ends. */
  readonly startOffset: number;
  readonly endOffset: number;
}

export interface EncodeOptions {
  readonly signal?: AbortSignal;
  /** Whether an earlier release gives the tokens of this sequence; absent where none does. */
  readonly isKnown?: (sequence: string) => boolean;
  /** Called with the residues that are encoded, those of an interrupted run before included. */
  readonly onResidues: (residues: number) => void;
}

export interface EncodeResult extends EncodedEntries {
  /** Proteins that have relatives, and all relatives that count. */
  readonly related: RelatedCounts;
  /** By this run. */
  readonly encodedResidues: number;
  readonly reusedResidues: number;
}

export type RelatedCounts = HomologsManifest['counts'];

/** Everything before these counts is on the disk, whatever happens next. */
interface Checkpoint {
  /** Of this range; only the offset is that of the whole spool. */
  readonly targets: number;
  readonly residues: number;
  readonly spoolOffset: number;
  readonly related: RelatedCounts;
  /** Present when all is encoded. */
  readonly files?: EncodedEntries;
}

/** Handed to the encoder before the first of them is awaited. */
const AHEAD_MAX_RESIDUES = 131_072;
const CHECKPOINT_INTERVAL_MS = 1_000;
/** Of a call, most of whose proteins may be known: their tokens are in memory until they are written. */
const BATCH_MAX_RESIDUES = 1_048_576;
/** What is counted of proteins without relatives. */
export const NO_RELATED: RelatedCounts = { targets: 0, relatives: 0 };

/**
 * Encodes a range of the spooled proteins in order into tokens.arrow, where they have relatives into profiles.arrow,
 * too, and what else the tables say of them beside these, from the last checkpoint on. A protein's tokens depend on
 * nothing but the protein and what the manifest names, so it does not matter where it was interrupted.
 * Errors  Refusal `disk_full` before it starts where the tokens cannot fit; those of encoder, finder and file system
 * Cost    those of encoder and finder, and a read of what an interrupted run had written, for its digest
 */
export async function encodeProteins(
  source: ProteinTokens,
  range: SpoolRange,
  folder: EncodeFolder,
  options: EncodeOptions,
): Promise<EncodeResult> {
  const from = (await readState<Checkpoint>(folder.encoded)) ?? startOf(range);
  if (from.files !== undefined) {
    return { ...from.files, related: from.related, encodedResidues: 0, reusedResidues: 0 };
  }
  const { dimension, hasProfiles } = source;
  const rowBytes = dimension + (hasProfiles ? PROFILE_WIDTH : 0);
  const tableBytes = range.endOffset - range.startOffset;
  await checkSpace(folder.release, (range.residues - from.residues) * rowBytes + tableBytes);
  const files = await openEncodedFiles(source, range, folder, from);
  try {
    const { related, reusedResidues } = await encodeFrom(from, source, {
      files,
      folder,
      endOffset: range.endOffset,
      options,
    });
    const entries = await finishEncodedFiles(files);
    await writeEncoded(range, folder, entries, related);
    const encodedResidues = range.residues - from.residues - reusedResidues;
    return { ...entries, related, encodedResidues, reusedResidues };
  } catch (cause) {
    await abandonEncodedFiles(files);
    throw cause;
  }
}

/** Notes that all of the range is encoded, so that nothing of it is encoded again. */
export async function writeEncoded(
  { targets, residues, endOffset: spoolOffset }: SpoolRange,
  folder: Pick<EncodeFolder, 'encoded'>,
  files: EncodedEntries,
  related: RelatedCounts,
): Promise<void> {
  const end: Checkpoint = { targets, residues, spoolOffset, related, files };
  await writeState(folder.encoded, end);
}

/** How far the encoding of a range has come; undefined where it has not begun or saved nothing yet. */
export function readEncoded(
  folder: Pick<EncodeFolder, 'encoded'>,
): Promise<Pick<Checkpoint, 'residues' | 'related' | 'files'> | undefined> {
  return readState<Checkpoint>(folder.encoded);
}

/** All of a build's proteins. */
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

/** Proteins of one call, which may not have been answered yet. */
interface Batch {
  readonly lines: readonly SpooledLine[];
  readonly encoded: Promise<readonly BuiltTokens[]>;
}

/** Calls are made ahead and written in their order. */
async function encodeFrom(
  from: Checkpoint,
  source: ProteinTokens,
  sink: Sink,
): Promise<Pick<EncodeResult, 'related' | 'reusedResidues'>> {
  const { folder, endOffset, options } = sink;
  const { signal } = options;
  // Every call that is ahead listens to it, and what these call.
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
    // It is awaited in its turn; until then its failure must not count as unhandled.
    encoded.catch(() => undefined);
    ahead.push({ lines, encoded });
    for (const { protein } of lines) aheadResidues += protein.sequence.length;
    while (ahead.length > 0 && (ahead.length > source.aheadBatches || aheadResidues > AHEAD_MAX_RESIDUES)) {
      await writeFirst();
    }
  }
  while (ahead.length > 0) await writeFirst();
  await checkpoints.settle();
  return { related: done.related, reusedResidues };
}

/** As many proteins as a call is best made for, with those between them that need none. */
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
    assert(profile && effectiveSequences, 'in a release with profiles every protein has one');
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

/** Saves every few seconds how far everything has reached the disk, beside the encoding that goes on. */
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
      // It is awaited before the next one; until then its failure must not count as unhandled.
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
    `The release needs ${inMegabytes(neededBytes)} more in ${folder}, where ${inMegabytes(bavail * bsize)} ` +
      'are free. Free some space, or move the indexes folder, and run the same command again.',
    { needed_bytes: neededBytes, free_bytes: bavail * bsize },
  );
}

function inMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`;
}
