import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { canonicalSha256, sha256Hex } from '../canonical.js';
import { Refusal } from '../errors.js';
import type { Homolog } from '../homologs/homolog-set.js';
import { withoutHomologs, type HomologFinder } from '../homologs/finder.js';
import type { HomologRules } from '../homologs/rules.js';
import { selectHomologs } from '../homologs/select.js';
import { ALIGNMENT_MAX_BYTES, ALIGNMENT_MAX_ROWS } from '../limits.js';
import { normaliseProtein } from '../sequence/protein.js';
import { a3mRows, overProtein, stockholmRows, type AlignmentRow } from './alignment-rows.js';

const BATCH_PROTEINS = 64;
const EXTENSIONS = ['.a3m', '.sto', '.stk'] as const;

/** A folder of alignments, named by the ids of their proteins. */
export interface AlignmentFolder {
  readonly path: string;
  /** Of every alignment's name and content. */
  readonly sha256: string;
}

/** Errors  Refusal `invalid_alignment` where the folder cannot be read or has no alignment */
export async function openAlignments(path: string): Promise<AlignmentFolder> {
  const names = await readdir(path).catch(() => []);
  const files = names.filter((name) => EXTENSIONS.some((extension) => name.endsWith(extension))).sort();
  if (files.length === 0) {
    throw new Refusal(
      'invalid_alignment',
      `${path} holds no alignments: expected are files <id>.a3m, .sto or .stk.`,
    );
  }
  const digests: [string, string][] = [];
  for (const name of files) digests.push([name, sha256Hex(await readAlignment(join(path, name)))]);
  return { path, sha256: canonicalSha256(digests) };
}

/**
 * Relatives as the lab's own alignments have them. They are taken as relatives whatever made them; rows that cover too
 * little of the protein or are near copies do not count.
 * Errors  Refusal `invalid_alignment` that names the file
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

/** Ids stand for plain file names only. */
async function readHomologs(folder: string, id: string, sequence: string): Promise<readonly Homolog[]> {
  if (basename(id) !== id || id.startsWith('.')) return [];
  for (const extension of EXTENSIONS) {
    const file = join(folder, `${id}${extension}`);
    const isThere = await stat(file).then(
      (found) => found.isFile(),
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
      `${file} has no row that is the protein itself, letter for letter, so that its columns could be placed.`,
    );
  }
  return rows
    .filter((_, index) => index !== own)
    .slice(0, ALIGNMENT_MAX_ROWS)
    .flatMap((row) => overProtein(row, rows[own], sequence) ?? []);
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
      `${file} has ${size} bytes; at most ${ALIGNMENT_MAX_BYTES} are read. Keep its nearest rows.`,
    );
  }
  return readFile(file);
}
