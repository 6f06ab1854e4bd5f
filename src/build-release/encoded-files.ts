import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Fault, ifAbsent } from '../errors.js';
import { PROFILE_WIDTH } from '../kernels/kernels.js';
import { PROFILES_FILE, profilesFrame, TOKENS_FILE, tokensFrame, type RowsFrame } from '../release/format.js';
import { openHashedFile, type HashedFile } from '../release/hashed-file.js';
import type { FileEntry, RowsEntry, TargetHomologs } from '../release/release.js';
import { openRowsFile, type RowsFile } from '../release/rows/rows-file.js';
import type { BuildFolder } from './build-folder.js';
import type { ProteinTokens } from './protein-tokens.js';

/** Paths of one encoding: those of the build folder, or those of a shard. */
export type EncodeFolder = Pick<BuildFolder, 'spool' | 'encoded' | 'scores' | 'homologSets' | 'release'>;

/** Files that receive the values of each encoded protein. */
export interface EncodedFiles {
  readonly tokens: RowsFile;
  /** Defined if the build has homologs, as is `homologSets`. */
  readonly profiles?: RowsFile;
  readonly scores: HashedFile;
  readonly homologSets?: HashedFile;
}

/** Entries of the finished files. Tokens and profiles belong to the release. */
export interface EncodedEntries {
  readonly tokens: RowsEntry;
  readonly profiles?: RowsEntry;
  readonly scores: FileEntry;
  readonly homologSets?: FileEntry;
}

/** Bytes per protein in self-scores.i32 and in families.f64. */
const SCORE_BYTES = 4;
const HOMOLOG_SET_BYTES = 16;

/**
 * Opens the files for writing after a checkpoint and truncates them there.
 * Errors  errors of the file system; Fault where a file is shorter than the checkpoint
 */
export async function openEncodedFiles(
  { dimension, hasProfiles }: Pick<ProteinTokens, 'dimension' | 'hasProfiles'>,
  { residues }: { readonly residues: number },
  folder: Omit<EncodeFolder, 'spool' | 'encoded'>,
  checkpoint: { readonly targets: number; readonly residues: number },
): Promise<EncodedFiles> {
  const open = (name: string, frame: RowsFrame, width: number): Promise<RowsFile> =>
    openRowsFile(join(folder.release, name), frame, checkpoint.residues * width);
  return {
    tokens: await open(TOKENS_FILE, tokensFrame(dimension, residues), dimension),
    profiles: hasProfiles ? await open(PROFILES_FILE, profilesFrame(residues), PROFILE_WIDTH) : undefined,
    scores: await openHashedFile(folder.scores, checkpoint.targets * SCORE_BYTES),
    homologSets: hasProfiles
      ? await openHashedFile(folder.homologSets, checkpoint.targets * HOMOLOG_SET_BYTES)
      : undefined,
  };
}

/** Completes and closes the files. Errors  errors of the file system */
export async function finishEncodedFiles(files: EncodedFiles): Promise<EncodedEntries> {
  return {
    tokens: await files.tokens.finish(),
    profiles: await files.profiles?.finish(),
    scores: await files.scores.finish(),
    homologSets: await files.homologSets?.finish(),
  };
}

/** Makes durable what was written before the call. Errors  errors of the file system */
export async function syncEncodedFiles(files: EncodedFiles): Promise<void> {
  for (const file of Object.values(files) as readonly EncodedFiles[keyof EncodedFiles][]) await file?.sync();
}

/** Closes the files without completing or syncing them. Errors  errors of the file system */
export async function abandonEncodedFiles(files: EncodedFiles): Promise<void> {
  const { tokens, profiles, scores, homologSets } = files;
  await Promise.all([tokens.abandon(), profiles?.abandon(), scores.abandon(), homologSets?.abandon()]);
}

/**
 * Reads the self-scores of a build.
 * Shape   int32 [targets], in the order of the targets
 * Unit    affine scores of each protein with itself
 * Errors  Fault for a damaged file; errors of the file system
 */
export async function readSelfScores(
  folder: Pick<EncodeFolder, 'scores'>,
  { scores }: Pick<EncodedEntries, 'scores'>,
): Promise<Int32Array> {
  const bytes = await readNumbers(folder.scores, scores);
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / SCORE_BYTES);
}

/**
 * Reads the homolog counts of a build with homologs and returns a look-up by target.
 * Errors  Fault for a damaged file; errors of the file system
 */
export async function readTargetHomologs(
  folder: Pick<EncodeFolder, 'homologSets'>,
  { homologSets }: Pick<EncodedEntries, 'homologSets'>,
): Promise<(row: number) => TargetHomologs> {
  const bytes = await readNumbers(folder.homologSets, homologSets);
  // Copied, because the bytes of a small file need not be aligned to 8.
  const numbers = new Float64Array(Uint8Array.from(bytes).buffer);
  return (row) => ({ relatives: numbers[2 * row], effectiveSequences: numbers[2 * row + 1] });
}

/**
 * Reads self-scores.i32 or families.f64.
 * Errors  Fault where the file is not the one that was written; errors of the file system
 * @param entry  undefined if an earlier version encoded, which stored none
 */
export async function readNumbers(path: string, entry: FileEntry | undefined): Promise<Buffer> {
  const bytes = await readFile(path).catch(ifAbsent(Buffer.alloc(0)));
  if (entry?.sha256 === createHash('sha256').update(bytes).digest('hex')) return bytes;
  throw new Fault(
    `${path} is damaged or of an earlier version; remove ${dirname(path)} and run the same command again.`,
  );
}
