import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { sampleDistinct, seededRandom, type Random } from '../../src/random.js';
import { parseFastaHeader } from '../../src/sequence/fasta-header.js';
import { fastaFile, readFasta } from '../../src/sequence/fasta.js';
import { FAMILIES, familyOf, type NamedFamily } from './families.js';

/*
 * Selects the proteins of the demo from six proteomes of UniProt: members of remote families by name, and a random
 * rest. Lengths are bounded, so that a first start encodes all in a few seconds. The selection depends on the input and
 * the seed only.
 */

const SEED = 20_261_124;
const PROTEINS = 2_000;
const FAMILY_MOST = 110;
/** Lengths of members of families. Unit: residues */
const FAMILY_LENGTHS = [40, 700] as const;
/** Lengths of the random rest. Unit: residues */
const REST_LENGTHS = [40, 500] as const;
/** Always selected: thioredoxin 1 of E. coli. */
const SELECTED_ID = 'P0AA25';
const ROOT_TAXID = 1;

interface SelectedProtein {
  readonly header: string;
  readonly sequence: string;
  readonly id: string;
  readonly taxid: number | undefined;
  readonly family: NamedFamily | undefined;
}

/** Files of the demo: gzipped FASTA, and the rows of NCBI's taxonomy for its organisms. */
export interface DemoFiles {
  readonly proteins: readonly SelectedProtein[];
  readonly fasta: string;
  readonly nodes: string;
  readonly names: string;
}

/** Selects the proteins. @param data folder of the shared data. Errors  those of reading its files */
export async function selectDemo(data: string): Promise<DemoFiles> {
  const all: SelectedProtein[] = [];
  for await (const { header, text } of readFasta(fastaFile(join(data, 'uniprot-sample.fasta.gz')))) {
    const { id, taxid, name } = parseFastaHeader(header);
    const sequence = text.replace(/\s/g, '');
    all.push({ header, sequence, id, taxid, family: familyOf(name ?? '') });
  }
  const proteins = select(all, seededRandom(SEED));
  const taxids = new Set(proteins.flatMap(({ taxid }) => taxid ?? []));
  return {
    proteins,
    fasta: proteins.map(({ header, sequence }) => `>${header}\n${wrapped(sequence)}`).join(''),
    ...(await lineageRows(join(data, 'taxonomy'), taxids)),
  };
}

/** Writes the files of the demo. Errors  those of the file system */
export async function writeDemo({ fasta, nodes, names }: DemoFiles, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'proteins.fasta.gz'), gzipSync(fasta, { level: 9 }));
  await writeFile(join(folder, 'nodes.dmp'), nodes);
  await writeFile(join(folder, 'names.dmp'), names);
}

function select(all: readonly SelectedProtein[], random: Random): readonly SelectedProtein[] {
  const chosen = new Set<SelectedProtein>(all.filter(({ id }) => id === SELECTED_ID));
  for (const family of FAMILIES) {
    const members = all.filter((each) => each.family === family && isWithin(each, FAMILY_LENGTHS));
    for (const at of sampleDistinct(members.length, FAMILY_MOST, random)) chosen.add(members[at]);
  }
  const rest = all.filter((each) => !chosen.has(each) && isWithin(each, REST_LENGTHS));
  for (const at of sampleDistinct(rest.length, PROTEINS - chosen.size, random)) chosen.add(rest[at]);
  return all.filter((each) => chosen.has(each));
}

function isWithin({ sequence }: SelectedProtein, [least, most]: readonly [number, number]): boolean {
  return sequence.length >= least && sequence.length <= most;
}

function wrapped(sequence: string): string {
  return sequence.replace(/.{1,60}/g, '$&\n');
}

/** Returns the rows of the taxids and all their ancestors. */
async function lineageRows(
  folder: string,
  taxids: ReadonlySet<number>,
): Promise<Pick<DemoFiles, 'nodes' | 'names'>> {
  const nodes = await rowsById(join(folder, 'nodes.dmp.gz'));
  const names = await rowsById(join(folder, 'names.dmp.gz'));
  const picked = new Set<number>();
  for (const taxid of taxids) {
    for (let at = taxid; !picked.has(at); at = Number(nodes.get(at)?.[0].split('\t|\t')[1] ?? ROOT_TAXID)) {
      picked.add(at);
    }
  }
  const ordered = [...picked].sort((a, b) => a - b);
  const rowsOf = (table: ReadonlyMap<number, readonly string[]>, isKept: (row: string) => boolean): string =>
    ordered.flatMap((taxid) => (table.get(taxid) ?? []).filter(isKept)).join('');
  return {
    nodes: rowsOf(nodes, () => true),
    names: rowsOf(names, (row) => row.includes('\tscientific name\t')),
  };
}

async function rowsById(path: string): Promise<ReadonlyMap<number, readonly string[]>> {
  const rows = new Map<number, string[]>();
  const text = gunzipSync(await readFile(path)).toString('utf8');
  for (const line of text.split('\n').filter(Boolean)) {
    const taxid = Number.parseInt(line, 10);
    rows.set(taxid, [...(rows.get(taxid) ?? []), `${line}\n`]);
  }
  return rows;
}
