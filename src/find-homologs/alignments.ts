import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { canonicalSha256, sha256Hex } from '../canonical.js';
import { Refusal } from '../errors.js';
import { overProtein, type AlignmentRow } from '../homologs/aligned-row.js';
import type { Homolog } from '../homologs/homolog-set.js';
import { withoutHomologs, type HomologFinder } from '../homologs/finder.js';
import type { HomologRules } from '../homologs/rules.js';
import { selectHomologs } from '../homologs/select.js';
import { ALIGNMENT_MAX_BYTES, ALIGNMENT_MAX_ROWS } from '../limits.js';
import { normaliseProtein } from '../sequence/protein.js';
import { a3mRows, stockholmRows } from './alignment-rows.js';

const BATCH_PROTEINS = 64;
const EXTENSIONS = ['.a3m', '.sto', '.stk'] as const;

/** A folder of alignment files. A file's name is the id of its protein. */
export interface AlignmentFolder {
  readonly path: string;
  /** SHA-256 over the name and content digest of every alignment, in hexadecimal. */
  readonly sha256: string;
}

/**
 * Lists and hashes the alignments of a folder.
 * Errors  Refusal `invalid_alignment` where the folder cannot be read, has no alignment or has one that is too large;
 *         errors of the file system
 */
export async function openAlignments(path: string): Promise<AlignmentFolder> {
  const names = await readdir(path).catch(() => []);
  const files = names.filter((name) => EXTENSIONS.some((extension) => name.endsWith(extension))).sort();
  if (files.length === 0) {
    throw new Refusal(
      'invalid_alignment',
      `${path} has no alignments. Name the files <id>.a3m, <id>.sto or <id>.stk.`,
    );
  }
  const digests: [string, string][] = [];
  for (const name of files) digests.push([name, sha256Hex(await readAlignment(join(path, name)))]);
  return { path, sha256: canonicalSha256(digests) };
}

/**
 * Returns a finder that reads homologs from alignment files. Rows have no E-value and all count as homologs, except
 * rows with low coverage and near copies.
 * Errors  none here; the finder rejects with Refusal `invalid_alignment`, which names the file
 */
export function alignedHomologs({ path }: Pick<AlignmentFolder, 'path'>, rules: HomologRules): HomologFinder {
  return {
    batchProteins: BATCH_PROTEINS,
    async find(proteins, { signal } = {}) {
      const homologSets = [];
      for (const { id, sequence } of proteins) {
        signal?.throwIfAborted();
        const homologs = id === undefined ? [] : await readHomologs(path, id, sequence);
        homologSets.push(
          homologs.length === 0 ? withoutHomologs(sequence) : selectHomologs({ sequence, homologs }, rules),
        );
      }
      return homologSets;
    },
  };
}

/** Returns no homologs for an id that is not a plain file name, so that an id cannot name a file outside the folder. */
async function readHomologs(folder: string, id: string, sequence: string): Promise<readonly Homolog[]> {
  if (basename(id) !== id || id.startsWith('.')) return [];
  for (const extension of EXTENSIONS) {
    const file = join(folder, `${id}${extension}`);
    const isThere = await stat(file).then(
      (status) => status.isFile(),
      () => false,
    );
    if (!isThere) continue;
    const text = (await readAlignment(file)).toString('latin1');
    const rows = extension === '.a3m' ? a3mRows(text, file) : stockholmRows(text, file);
    return homologsOf(rows, sequence, file);
  }
  return [];
}

function homologsOf(rows: readonly AlignmentRow[], sequence: string, file: string): readonly Homolog[] {
  const own = rows.findIndex(({ text }) => isProtein(text, sequence));
  if (own < 0) {
    throw new Refusal(
      'invalid_alignment',
      `${file} needs a row with exactly the sequence of its protein, to which the other rows are aligned.`,
    );
  }
  return rows
    .filter((_, index) => index !== own)
    .slice(0, ALIGNMENT_MAX_ROWS)
    .flatMap((row) => overProtein(row, rows[own], sequence, file) ?? []);
}

function isProtein(text: string, sequence: string): boolean {
  const letters = text.replaceAll(/[-.]/g, '');
  return letters.length === sequence.length && normaliseProtein(letters).sequence === sequence;
}

async function readAlignment(file: string): Promise<Buffer> {
  const { size } = await stat(file);
  if (size > ALIGNMENT_MAX_BYTES) {
    throw new Refusal(
      'invalid_alignment',
      `${file} has ${size} bytes; the limit is ${ALIGNMENT_MAX_BYTES}. Keep only the rows nearest to the protein.`,
    );
  }
  return readFile(file);
}
