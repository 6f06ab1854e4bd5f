import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROFILE_WIDTH } from '../kernels/kernels.js';
import { PROFILES_FILE, profilesFrame, TOKENS_FILE, tokensFrame, type RowsFrame } from '../release/format.js';
import { openHashedFile, type HashedFile } from '../release/hashed-file.js';
import type { RowsEntry, TargetHomologs } from '../release/release.js';
import { openRowsFile, type RowsFile } from '../release/rows/rows-file.js';
import type { BuildFolder } from './build-folder.js';
import type { ProteinTokens } from './protein-tokens.js';

/** Where a range is read from and what is made of it: all of a build folder, or a shard of it. */
export type EncodeFolder = Pick<BuildFolder, 'spool' | 'encoded' | 'scores' | 'homologSets' | 'release'>;

/** What is written as proteins are encoded, protein after protein. */
export interface EncodedFiles {
  readonly tokens: RowsFile;
  /** Where they have relatives, as families are. */
  readonly profiles?: RowsFile;
  readonly scores: HashedFile;
  readonly homologSets?: HashedFile;
}

/** Those of these files that are the release's own, when they are complete. */
export interface EncodedEntries {
  readonly tokens: RowsEntry;
  readonly profiles?: RowsEntry;
}

/** Bytes of a protein in self-scores.i32, and in families.f64. */
export const SCORE_BYTES = 4;
export const FAMILY_BYTES = 16;

/**
 * Opens the files of so many residues for writing after those proteins that are kept; what stands after them is cut
 * off.
 */
export async function openEncodedFiles(
  { dimension, hasProfiles }: Pick<ProteinTokens, 'dimension' | 'hasProfiles'>,
  { residues }: { readonly residues: number },
  folder: Omit<EncodeFolder, 'spool' | 'encoded'>,
  kept: { readonly targets: number; readonly residues: number },
): Promise<EncodedFiles> {
  const open = (name: string, frame: RowsFrame, width: number): Promise<RowsFile> =>
    openRowsFile(join(folder.release, name), frame, kept.residues * width);
  return {
    tokens: await open(TOKENS_FILE, tokensFrame(dimension, residues), dimension),
    profiles: hasProfiles ? await open(PROFILES_FILE, profilesFrame(residues), PROFILE_WIDTH) : undefined,
    scores: await openHashedFile(folder.scores, kept.targets * SCORE_BYTES),
    homologSets: hasProfiles
      ? await openHashedFile(folder.homologSets, kept.targets * FAMILY_BYTES)
      : undefined,
  };
}

export async function finishEncodedFiles(files: EncodedFiles): Promise<EncodedEntries> {
  await files.scores.finish();
  await files.homologSets?.finish();
  return { tokens: await files.tokens.finish(), profiles: await files.profiles?.finish() };
}

/** Resolves when all that was written before the call is on the disk. */
export async function syncEncodedFiles(files: EncodedFiles): Promise<void> {
  for (const file of Object.values(files) as readonly EncodedFiles[keyof EncodedFiles][]) await file?.sync();
}

/** Closes without waiting for the disk. */
export async function abandonEncodedFiles(files: EncodedFiles): Promise<void> {
  const { tokens, profiles, scores, homologSets } = files;
  await Promise.all([tokens.abandon(), profiles?.abandon(), scores.abandon(), homologSets?.abandon()]);
}

/** Self scores in the order of the targets. */
export async function readSelfScores(folder: Pick<EncodeFolder, 'scores'>): Promise<Int32Array> {
  const bytes = await readFile(folder.scores);
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / SCORE_BYTES);
}

/** What is known of the relatives of each, where they have such. */
export async function readTargetHomologs(
  folder: Pick<EncodeFolder, 'homologSets'>,
): Promise<(row: number) => TargetHomologs> {
  // A copy, because a small file's bytes may begin anywhere.
  const numbers = new Float64Array(Uint8Array.from(await readFile(folder.homologSets)).buffer);
  return (row) => ({ relatives: numbers[2 * row], effectiveSequences: numbers[2 * row + 1] });
}
