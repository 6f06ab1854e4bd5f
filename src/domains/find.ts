import { searchMany } from '../search/search.js';
import type { Candidate, NamedQuery, SearchEngine, SearchSettings } from '../search/search-types.js';
import { familyIdOf } from '../release/family-id.js';
import type { Release } from '../release/release.js';
import { chooseDomains, uncovered, type AnnotatedProtein, type Domain, type FamilyName } from './domain.js';

export interface FindOptions {
  /** Largest E-value of a domain. */
  readonly maxEValue: number;
  /** Searches of one protein: the whole one, then what is left uncovered. ≥ 1 */
  readonly rounds: number;
  readonly settings: Pick<SearchSettings, 'targetSpace' | 'limit' | 'guarantee'>;
  readonly signal?: AbortSignal;
}

/** A shorter rest of a protein is not searched. */
const LEAST_RESIDUES = 30;

/** A stretch of a protein that is searched as a sequence of its own. */
interface Stretch {
  readonly protein: number;
  readonly start: number;
  readonly query: NamedQuery;
}

/**
 * Finds the domains of some proteins. A search gives one alignment per family, so what no domain covers is searched
 * again, for repeats and for domains beside stronger ones. The E-value of a domain is that of the search that found it.
 * A protein whose length or composition the calibration does not cover has no domains.
 * Errors  those of searchMany
 */
export async function findDomains(
  proteins: readonly NamedQuery[],
  engine: SearchEngine,
  options: FindOptions,
): Promise<readonly AnnotatedProtein[]> {
  const domains: (readonly Domain[])[] = proteins.map(() => []);
  const unjudged = new Set<number>();
  let stretches: readonly Stretch[] = proteins.map((query, protein) => ({ protein, start: 0, query }));
  for (let round = 1; round <= options.rounds && stretches.length > 0; round += 1) {
    const found = await searchStretches(stretches, engine, options, round, unjudged);
    for (const [protein, added] of found) domains[protein] = [...domains[protein], ...added];
    stretches = [...found.keys()].flatMap((protein) => restOf(proteins[protein], protein, domains[protein]));
  }
  return proteins.map(({ id, description, sequence }, index) => ({
    id,
    ...(description !== undefined && { description }),
    length: sequence.length,
    domains: domains[index].toSorted((a, b) => a.start - b.start || a.end - b.end),
    ...(unjudged.has(index) && { hasNoEValues: true as const }),
  }));
}

/**
 * Returns the new domains of each protein that has any.
 * @param unjudged  gets the whole proteins that the calibration does not cover
 */
async function searchStretches(
  stretches: readonly Stretch[],
  engine: SearchEngine,
  { maxEValue, settings, signal }: FindOptions,
  round: number,
  unjudged: Set<number>,
): Promise<ReadonlyMap<number, readonly Domain[]>> {
  const results = await searchMany(
    stretches.map(({ query }) => query),
    { ...settings, evidence: 'pairwise_sequence_alignment', significance: 'if_available' },
    engine,
    signal,
  );
  const found = new Map<number, readonly Domain[]>();
  for (const [index, { candidates }] of results.entries()) {
    const { protein, start } = stretches[index];
    if (round === 1 && candidates.some(isOfUncoveredQuery)) unjudged.add(protein);
    const hits = candidates.flatMap((candidate) => {
      const domain = domainOf(candidate, engine.release, start, round);
      return domain !== undefined && domain.logEValue <= Math.log(maxEValue) ? [domain] : [];
    });
    const chosen = chooseDomains(hits);
    if (chosen.length > 0) found.set(protein, [...(found.get(protein) ?? []), ...chosen]);
  }
  return found;
}

function isOfUncoveredQuery({ significance }: Candidate): boolean {
  return significance.kind === 'unsupported' && significance.reason.startsWith('query_');
}

/** Returns the domain of a family in a protein; undefined if the pair has no alignment or no E-value. */
function domainOf(
  { significance, alignment, targetIndex }: Candidate,
  release: Release,
  offset: number,
  round: number,
): Domain | undefined {
  if (significance.kind !== 'supported' || alignment === undefined) return undefined;
  return {
    family: familyOf(release, targetIndex),
    start: offset + alignment.queryStart,
    end: offset + alignment.queryEnd,
    familyStart: alignment.targetStart,
    familyEnd: alignment.targetEnd,
    logEValue: significance.logEValue,
    bitScore: significance.bitScore,
    round,
  };
}

function familyOf({ targets }: Release, target: number): FamilyName {
  const attributes = targets.attributes(target);
  const id = familyIdOf(attributes) ?? targets.id(target);
  const text = (name: string): Record<string, string> => {
    const value = attributes[name];
    return typeof value === 'string' && value !== '' ? { [name]: value } : {};
  };
  return {
    id,
    name: id,
    ...text('name'),
    ...text('accession'),
    ...text('description'),
    ...text('clan'),
    ...text('type'),
    length: targets.length(target),
  };
}

function restOf(query: NamedQuery, protein: number, domains: readonly Domain[]): readonly Stretch[] {
  const { sequence } = query;
  return uncovered(sequence.length, domains, LEAST_RESIDUES).map(([start, end]) => ({
    protein,
    start,
    query: { ...query, sequence: sequence.slice(start, end) },
  }));
}
