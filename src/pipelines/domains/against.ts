import { readDomainRows } from '../../build-release/sources/tables/domains.js';
import type { AnnotatedProtein, Domain } from '../../domains/domain.js';

/** Stretches of each protein that another annotation has. Zero-based, half-open, ascending and disjoint. */
export type GivenDomains = ReadonlyMap<string, readonly (readonly [start: number, end: number])[]>;

/** A domain is new if the given annotation covers a smaller share of its residues. */
const LEAST_COVERED_SHARE = 0.5;

/**
 * Reads the domains of another annotation: the `--domtblout` of hmmscan or hmmsearch, whose domains up to E = 0.001
 * count, or a TSV of InterProScan.
 * Errors  those of readDomainRows
 */
export async function readGivenDomains(path: string): Promise<GivenDomains> {
  const stretches = new Map<string, [number, number][]>();
  await readDomainRows(path, ({ protein, first, last }) => {
    const own = stretches.get(protein);
    if (own === undefined) stretches.set(protein, [[first - 1, last]]);
    else own.push([first - 1, last]);
  });
  return new Map([...stretches].map(([protein, own]) => [protein, disjoint(own)]));
}

function disjoint(stretches: [number, number][]): readonly [number, number][] {
  const joined: [number, number][] = [];
  for (const [start, end] of stretches.sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([start, end]);
  }
  return joined;
}

/** Marks the domains that the given annotation does not have, and the proteins in which it has none. */
export function markNew(protein: AnnotatedProtein, given: GivenDomains): AnnotatedProtein {
  const stretches = given.get(protein.id) ?? [];
  const isNew = ({ start, end }: Domain): boolean => {
    const covered = stretches.reduce(
      (sum, [from, to]) => sum + Math.max(0, Math.min(to, end) - Math.max(from, start)),
      0,
    );
    return covered < LEAST_COVERED_SHARE * (end - start);
  };
  return {
    ...protein,
    hasGiven: stretches.length > 0,
    domains: protein.domains.map((domain) => ({ ...domain, isNew: isNew(domain) })),
  };
}
