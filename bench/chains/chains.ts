import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { findDomains } from '../../src/domains/find.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import type { Bench } from '../main.js';
import { missingPrograms, openFamilies, writeFamilies } from '../families/families.js';
import { alignFamilies, hmmscanDomains } from '../families/peers.js';
import { hasNatural } from '../tools/natural.js';
import type { BenchProtein } from '../tools/proteins.js';
import { makeChains, readFamilies, type Chain } from './select.js';

/*
 * Measures how many members of a chain are found as domains. A chain is five members of one Pfam family, which its
 * alignment does not hold, each behind 30 shuffled residues. `annotate` and hmmscan find domains with the same
 * alignments. A piece counts if its family, or one of the same fold, covers half of it and lies in it by half. Only
 * pieces are counted that the same program finds alone.
 *
 *   npm run bench -- chains [chains of each family] [folder to keep]
 */

const LARGEST_E = 1e-3;
const ROUNDS = 4;
const LIMIT = 100;
const PROGRAMS = { mafft: '--version', hmmscan: '-h' } as const;

/** A domain of a protein. Zero-based and half-open. */
interface Place {
  readonly family: string;
  readonly start: number;
  readonly end: number;
}

/** Domains of each protein, by its id. */
type Places = ReadonlyMap<string, readonly Place[]>;

export const run: Bench = async ([chainCount = '15', folderOption]) => {
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const natural = join(shared, 'data', 'natural');
  const missing = await missingPrograms(PROGRAMS);
  if (!existsSync(natural) || !(await hasNatural(natural)) || missing.length > 0) {
    console.log(`Skipped: it needs the natural sequences, xz, and ${missing.join(', ') || 'nothing else'}.`);
    return { skipped: 'no data or no programs' };
  }
  const folder = folderOption ?? (await mkdtemp(join(tmpdir(), 'gloaming-bench-chains-')));
  await mkdir(folder, { recursive: true });
  const environment = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...environment }));
  try {
    const families = await readFamilies(natural);
    const chains = makeChains(families, Number(chainCount));
    const alignments = await alignFamilies(families, join(folder, 'alignments'));
    const engine = await openFamilies(appliance, await writeFamilies(alignments, folder));
    const pieces = chains.flatMap((chain) => chain.pieces.map(({ protein }) => protein));
    const alone = [...new Map(pieces.map((protein) => [protein.id, protein])).values()];
    const whole = chains.map(({ protein }) => protein);
    console.log(`${families.length} families, ${whole.length} chains of ${pieces.length} pieces`);
    const rows: Record<string, unknown> = {};
    const print = (name: string, ofChains: Places, ofPieces: Places): void => {
      rows[name] = count(chains, ofChains, ofPieces);
      console.log(name.padEnd(10), JSON.stringify(rows[name]));
    };
    const places = await ourPlaces([...whole, ...alone], engine);
    print('gloaming', places, places);
    const others = placesOf(await hmmscanDomains(alignments, [...whole, ...alone], folder));
    print('hmmscan', others, others);
    return { families: families.length, chains: whole.length, rows };
  } finally {
    await appliance.close();
    if (folderOption === undefined) await rm(folder, { recursive: true });
  }
};

async function ourPlaces(proteins: readonly BenchProtein[], engine: SearchEngine): Promise<Places> {
  const settings = {
    targetSpace: unfilteredSpace(engine.release),
    limit: LIMIT,
    guarantee: 'exhaustive',
  } as const;
  const queries = proteins.map((protein) => ({ ...protein, normalizationId: NORMALIZATION_ID }));
  const annotated = await findDomains(queries, engine, { maxEValue: LARGEST_E, rounds: ROUNDS, settings });
  return new Map(
    annotated.map(({ id, domains }) => [
      id,
      domains.map(({ family, start, end }) => ({ family: family.id, start, end })),
    ]),
  );
}

/** Reads hmmscan's domains of accepted families: those with a domain of a small E-value, by conditional E-values. */
function placesOf(table: string): Places {
  const rows = table
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s+/));
  const accepted = new Set(
    rows.filter((row) => Number(row[12]) <= LARGEST_E).map((row) => `${row[3]} ${row[0]}`),
  );
  const places = new Map<string, Place[]>();
  for (const row of rows) {
    const [family, id] = [row[0], row[3]];
    if (Number(row[11]) > LARGEST_E || !accepted.has(`${id} ${family}`)) continue;
    const place = { family, start: Number(row[17]) - 1, end: Number(row[18]) };
    places.set(id, [...(places.get(id) ?? []), place]);
  }
  return places;
}

/** Families of one fold, which find each other's members. */
const FOLDS: Readonly<Record<string, string>> = {
  PF14604: 'SH3',
  PF00018: 'SH3',
  PF07654: 'immunoglobulin',
  PF07679: 'immunoglobulin',
  PF07686: 'immunoglobulin',
};

const foldOf = (family: string): string => FOLDS[family] ?? family;

/** Counts the pieces that are found alone, those of them that are found in chains, and domains outside all pieces. */
function count(chains: readonly Chain[], ofChains: Places, ofPieces: Places) {
  let [alone, inChains, domains, outside] = [0, 0, 0, 0];
  for (const { family, protein, pieces } of chains) {
    const found = ofChains.get(protein.id) ?? [];
    const own = found.filter((place) => foldOf(place.family) === foldOf(family));
    for (const piece of pieces) {
      const single = ofPieces.get(piece.protein.id) ?? [];
      if (!single.some((place) => foldOf(place.family) === foldOf(family))) continue;
      alone += 1;
      if (own.some((place) => isAt(place, piece))) inChains += 1;
    }
    domains += found.length;
    outside += found.filter((place) => !pieces.some((piece) => shared(place, piece) > 0)).length;
  }
  return { alone, share: inChains / alone, domains, outside };
}

type Stretch = Pick<Place, 'start' | 'end'>;

const shared = (a: Stretch, b: Stretch): number => Math.min(a.end, b.end) - Math.max(a.start, b.start);

function isAt(place: Stretch, piece: Stretch): boolean {
  const both = 2 * shared(place, piece);
  return both >= piece.end - piece.start && both >= place.end - place.start;
}
