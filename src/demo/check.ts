import { assert } from '../errors.js';
import type { SimulatedDatabase, SimulatedProtein } from './simulate.js';

/** A search with a known answer: a simulated protein and all its true homologs in the database. */
export interface SelfCheck {
  readonly query: SimulatedProtein;
  /** Ids of the homologs, without the query. */
  readonly homologs: readonly string[];
}

/** Numbers of homologs that are large enough to be informative and small enough for one screen. */
const FEWEST_HOMOLOGS = 15;
const MOST_HOMOLOGS = 25;

/** Returns the ids of the proteins that share a domain with this one, without itself. */
export function trueHomologs({ proteins }: SimulatedDatabase, id: string): readonly string[] {
  const domains = new Set(proteins.find((protein) => protein.id === id)?.domains);
  return proteins
    .filter((protein) => protein.id !== id && protein.domains.some((domain) => domains.has(domain)))
    .map((protein) => protein.id);
}

/** Returns the check of the first protein, in database order, with 15 to 25 homologs. Search results play no part. */
export function selfCheckOf(database: SimulatedDatabase): SelfCheck {
  for (const query of database.proteins) {
    const homologs = trueHomologs(database, query.id);
    if (homologs.length >= FEWEST_HOMOLOGS && homologs.length <= MOST_HOMOLOGS) return { query, homologs };
  }
  assert(false, 'a simulated database large enough for a demo has a family of 16 to 26 proteins');
}

/** Counts the true homologs among the first n ranked targets without the query, where n is the number of homologs. */
export function foundHomologs({ query, homologs }: SelfCheck, rankedIds: readonly string[]): number {
  const others = rankedIds.filter((id) => id !== query.id);
  const ids = new Set(homologs);
  return others.slice(0, homologs.length).filter((id) => ids.has(id)).length;
}
