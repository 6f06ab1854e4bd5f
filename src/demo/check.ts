import { assert } from '../errors.js';
import type { SimulatedDatabase, SimulatedProtein } from './simulate.js';

/** A search whose right answer is known: a protein of the simulated database and all its true relatives there. */
export interface SelfCheck {
  readonly query: SimulatedProtein;
  /** Ids, the query's own left out. */
  readonly relatives: readonly string[];
}

/** A query with enough relatives to say something and few enough to fit on one screen. */
const FEWEST_RELATIVES = 15;
const MOST_RELATIVES = 25;

/** Ids of the proteins that share a domain with this one, itself left out. */
export function trueRelatives({ proteins }: SimulatedDatabase, id: string): readonly string[] {
  const domains = new Set(proteins.find((protein) => protein.id === id)?.domains);
  return proteins
    .filter((protein) => protein.id !== id && protein.domains.some((domain) => domains.has(domain)))
    .map((protein) => protein.id);
}

/** The first protein, in the order of the database, with a good number of relatives; not chosen by its result. */
export function selfCheckOf(database: SimulatedDatabase): SelfCheck {
  for (const query of database.proteins) {
    const relatives = trueRelatives(database, query.id);
    if (relatives.length >= FEWEST_RELATIVES && relatives.length <= MOST_RELATIVES)
      return { query, relatives };
  }
  assert(false, 'a simulated database large enough for a demo has a family of middling size');
}

/** How many true relatives stand among the first n candidates besides the query, n being the number there are. */
export function foundRelatives({ query, relatives }: SelfCheck, rankedIds: readonly string[]): number {
  const others = rankedIds.filter((id) => id !== query.id);
  const wanted = new Set(relatives);
  return others.slice(0, relatives.length).filter((id) => wanted.has(id)).length;
}
