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

/** A family needs two members to be aligned, and one domain is left out. */
const FEWEST_DOMAINS = 3;
/** A third of a superfamily is left out. */
const HELD_OUT_SHARE = 1 / 3;
/** Members of one family. */
const MOST_MEMBERS = 20;

/**
 * Chooses families and queries. Queries come from superfamilies of dev folds, on which the encoder was not trained, and
 * are left out of their families. Families of train folds fill the rest.
 */
export function selectFamilies(
  proteins: readonly BenchProtein[],
  labels: ReadonlyMap<string, DomainLabel>,
  familyCount: number,
  queryCount: number,
): BenchFamilies {
  const groups = new Map<string, BenchProtein[]>();
  for (const protein of proteins) {
    const { superfamily } = labels.get(protein.id)!;
    groups.set(superfamily, [...(groups.get(superfamily) ?? []), protein]);
  }
  const large = [...groups].filter(([, members]) => members.length >= FEWEST_DOMAINS);
  const isDev = ([, [{ id }]]: readonly [string, readonly BenchProtein[]]): boolean => labels.get(id)!.isDev;
  const dev = spaced(large.filter(isDev), Math.ceil(familyCount / 2));
  const train = spaced(
    large.filter((group) => !isDev(group)),
    familyCount - dev.length,
  );
  const heldOut: BenchProtein[] = [];
  const families = [...dev, ...train].map(([id, members], index): BenchFamily => {
    const out = index < dev.length ? spaced(members, Math.floor(members.length * HELD_OUT_SHARE)) : [];
    heldOut.push(...out);
    return {
      id,
      members: spaced(
        members.filter((member) => !out.includes(member)),
        MOST_MEMBERS,
      ),
    };
  });
  const queries = spaced(heldOut, queryCount);
  const sequences = new Set(families.flatMap(({ members }) => members.map(({ sequence }) => sequence)));
  assert(
    queries.every(({ sequence }) => !sequences.has(sequence)),
    'no family holds the sequence of a query',
  );
  return { families, queries };
}
