import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SourceProtein } from '#src/build-release/sources/protein-source.js';
import { filesInput } from '#src/build-release/sources/input-files.js';
import type { Refusal } from '#src/errors.js';
import { scratchFiles } from '../../scratch-files.js';

const { folder, file } = scratchFiles('families');
export { file };

let places = 0;
/** Writes a file below a new folder and returns its path. */
export function named(name: string, content: string | Buffer): string {
  places += 1;
  const path = join(folder, `place-${places}`, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** Reads all proteins of some files. */
export async function read(...paths: readonly string[]): Promise<readonly SourceProtein[]> {
  const input = await filesInput({ proteins: paths });
  const source = await input.open(folder);
  const proteins: SourceProtein[] = [];
  for await (const protein of source.proteins()) proteins.push(protein);
  source.close();
  return proteins;
}

/** Returns the refusal of some files. Errors  Error if they are read */
export async function refusal(...paths: readonly string[]): Promise<Refusal> {
  return read(...paths).then(
    () => {
      throw new Error('nothing was refused');
    },
    (cause: Refusal) => cause,
  );
}

/** Returns the homologs of a family; undefined without any. */
export function homologsOf({ family }: SourceProtein) {
  return family !== undefined && 'homologs' in family ? family.homologs : undefined;
}

/** An alignment of three members, one of them with an insertion, and two annotation rows. */
export const A3M =
  '#PF00085.25 ; Thio ; Thioredoxin fold\n>ss_pred a\nCCCCCC\n>Thio_consensus\nMKTAYI\n>m1 x\nMKTAYI\n>m2\nMRggTGYV\n' +
  '>m3\nLRTG-V\n';
