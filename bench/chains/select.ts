import { join } from 'node:path';
import { seededRandom, shuffled } from '../../src/random.js';
import type { BenchFamily } from '../families/select.js';
import { linesOf, readCompressed } from '../tools/natural.js';
import type { BenchProtein } from '../tools/proteins.js';

/** A Pfam family whose alignment has the members; no alignment has the others. */
export interface ChainedFamily extends BenchFamily {
  readonly others: readonly BenchProtein[];
}

/** A protein made of members of one family. */
export interface Chain {
  readonly family: string;
  readonly protein: BenchProtein;
  readonly pieces: readonly {
    readonly protein: BenchProtein;
    readonly start: number;
    readonly end: number;
  }[];
}

const MOST_MEMBERS = 40;
const MOST_OTHERS = 60;
/** Pieces of a chain. */
const PIECES = 5;
const LINKER_RESIDUES = 30;
/** Largest median length of a chained family: longer ones rarely repeat. */
const LARGEST_MEDIAN = 130;
const FEWEST_OTHERS = 20;
const SEED = 5;
/** A path of the source names the family of a sequence. */
const FAMILY_IN_PATH = /balifam10000\/.*\/(PF\d+)\./;

/** Reads the Pfam families of the natural sequences: one sequence of each cluster at 50 % identity. Needs xz. */
export async function readFamilies(natural: string): Promise<readonly ChainedFamily[]> {
  const random = seededRandom(SEED);
  const clusters = new Map<string, Map<string, string[]>>();
  for await (const line of linesOf(join(natural, 'meta.tsv.xz'))) {
    const cells = line.split('\t');
    const family = FAMILY_IN_PATH.exec(cells[6] ?? '')?.[1];
    if (family === undefined) continue;
    const ofFamily = clusters.get(family) ?? new Map<string, string[]>();
    clusters.set(family, ofFamily);
    ofFamily.set(cells[2], [...(ofFamily.get(cells[2]) ?? []), cells[0]]);
  }
  const chosen = [...clusters].sort().map(([id, ofFamily]) => {
    const ids = [...ofFamily].sort().map(([, members]) => members[random.below(members.length)]);
    const mixed = shuffled(ids, random);
    const memberCount = Math.min(MOST_MEMBERS, Math.floor(mixed.length / 2));
    return {
      id,
      members: mixed.slice(0, memberCount),
      others: mixed.slice(memberCount, memberCount + MOST_OTHERS),
    };
  });
  const wanted = new Set(chosen.flatMap(({ members, others }) => [...members, ...others]));
  const sequences = new Map<string, BenchProtein>();
  for (const name of ['clean', 'screened-out']) {
    for await (const protein of readCompressed(join(natural, `${name}.fasta.xz`)))
      if (wanted.has(protein.id)) sequences.set(protein.id, protein);
  }
  const proteinsOf = (ids: readonly string[]): readonly BenchProtein[] =>
    ids.flatMap((id) => sequences.get(id) ?? []);
  return chosen.map(({ id, members, others }) => ({
    id,
    members: proteinsOf(members),
    others: proteinsOf(others),
  }));
}

/** Makes chains of the short families. */
export function makeChains(families: readonly ChainedFamily[], countOfEach: number): readonly Chain[] {
  const random = seededRandom(SEED);
  const short = families.filter(
    ({ others }) => others.length >= FEWEST_OTHERS && medianOf(others) < LARGEST_MEDIAN,
  );
  return short.flatMap(({ id, others }) =>
    Array.from({ length: countOfEach }, (_, number): Chain => {
      let sequence = '';
      const pieces = shuffled(others, random)
        .slice(0, PIECES)
        .map((protein) => {
          const from = short[random.below(short.length)].others;
          const linker = shuffled([...from[random.below(from.length)].sequence], random).join('');
          sequence += linker.slice(0, LINKER_RESIDUES);
          const start = sequence.length;
          sequence += protein.sequence;
          return { protein, start, end: sequence.length };
        });
      return { family: id, protein: { id: `${id}_${number}`, sequence }, pieces };
    }),
  );
}

function medianOf(proteins: readonly BenchProtein[]): number {
  const lengths = proteins.map(({ sequence }) => sequence.length).sort((a, b) => a - b);
  return lengths[Math.floor(lengths.length / 2)];
}
