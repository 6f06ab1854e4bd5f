import { assert } from '../../src/errors.js';
import type { DomainLabel } from '../tools/labels.js';
import { spaced, type BenchProtein } from '../tools/proteins.js';

/** A family of domains of one superfamily. */
export interface BenchFamily {
  /** SCOPe superfamily, which is the id of the family. */
  readonly id: string;
  readonly members: readonly BenchProtein[];
}

export interface BenchFamilies {
  readonly families: readonly BenchFamily[];
  /** Domains that no family holds. Each belongs to the superfamily of a family. */
  readonly queries: readonly BenchProtein[];
}

/**
 * What of a superfamily is left out as queries: `family` leaves out single domains, so that the family may hold domains
 * of their SCOPe family. `superfamily` leaves out whole SCOPe families, so that it holds only remote homologs.
 */
export const LEVELS = ['family', 'superfamily'] as const;
export type Level = (typeof LEVELS)[number];

/** A family needs two members to be aligned, and one domain is left out. */
const FEWEST_DOMAINS = 3;
const FEWEST_MEMBERS = 2;
/** A third of a superfamily is left out. */
const HELD_OUT_SHARE = 1 / 3;
/** Members of one family. */
const MOST_MEMBERS = 20;

export interface FamilyOptions {
  readonly familyCount: number;
  readonly queryCount: number;
  readonly level: Level;
}

interface Divided {
  readonly id: string;
  readonly heldOut: readonly BenchProtein[];
  readonly members: readonly BenchProtein[];
}

/**
 * Chooses families and queries. Queries come from superfamilies of dev folds, on which the encoder was not trained, and
 * are left out of their families. Families of train folds fill the rest.
 */
export function selectFamilies(
  proteins: readonly BenchProtein[],
  labels: ReadonlyMap<string, DomainLabel>,
  { familyCount, queryCount, level }: FamilyOptions,
): BenchFamilies {
  const groups = groupBy(proteins, ({ id }) => labels.get(id)!.superfamily);
  const large = [...groups].filter(([, domains]) => domains.length >= FEWEST_DOMAINS);
  const divided = large.map(([id, members]): Divided & { readonly isDev: boolean } => {
    const { isDev } = labels.get(members[0].id)!;
    return { id, isDev, ...(isDev ? divide(members, labels, level) : { heldOut: [], members }) };
  });
  const usable = divided.filter(({ members }) => members.length >= FEWEST_MEMBERS);
  const dev = spaced(
    usable.filter(({ heldOut }) => heldOut.length > 0),
    Math.ceil(familyCount / 2),
  );
  const train = spaced(
    usable.filter(({ isDev }) => !isDev),
    familyCount - dev.length,
  );
  const families = [...dev, ...train].map(({ id, members }) => ({
    id,
    members: spaced(members, MOST_MEMBERS),
  }));
  const queries = spaced(
    dev.flatMap(({ heldOut }) => heldOut),
    queryCount,
  );
  const sequences = new Set(families.flatMap(({ members }) => members.map(({ sequence }) => sequence)));
  assert(
    queries.every(({ sequence }) => !sequences.has(sequence)),
    'no family holds the sequence of a query',
  );
  return { families, queries };
}

/** Divides a superfamily into queries and members. Domains of catch-all families have no known family. */
function divide(
  domains: readonly BenchProtein[],
  labels: ReadonlyMap<string, DomainLabel>,
  level: Level,
): Omit<Divided, 'id'> {
  if (level === 'family')
    return leaveOut(domains, spaced(domains, Math.floor(domains.length * HELD_OUT_SHARE)));
  const known = domains.filter(({ id }) => labels.get(id)!.isFamily);
  const scopFamilies = [...groupBy(known, ({ id }) => labels.get(id)!.family).values()];
  const count = scopFamilies.length < 2 ? 0 : Math.max(1, Math.floor(scopFamilies.length * HELD_OUT_SHARE));
  return leaveOut(known, spaced(scopFamilies, count).flat());
}

function leaveOut(domains: readonly BenchProtein[], heldOut: readonly BenchProtein[]): Omit<Divided, 'id'> {
  return { heldOut, members: domains.filter((domain) => !heldOut.includes(domain)) };
}

function groupBy(
  proteins: readonly BenchProtein[],
  keyOf: (protein: BenchProtein) => string,
): ReadonlyMap<string, readonly BenchProtein[]> {
  const groups = new Map<string, BenchProtein[]>();
  for (const protein of proteins)
    groups.set(keyOf(protein), [...(groups.get(keyOf(protein)) ?? []), protein]);
  return groups;
}
