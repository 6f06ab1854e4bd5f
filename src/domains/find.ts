import {
  LARGEST_CONDITIONAL_PROBABILITY,
  largestListed,
  logAcceptedShare,
} from '../search/pairs/accepted.js';
import { searchMany } from '../search/search.js';
import type {
  Candidate,
  FurtherAlignment,
  NamedQuery,
  SearchEngine,
  SearchSettings,
} from '../search/search-types.js';
import { PAIR_ALIGNMENTS_MAX_COUNT } from '../limits.js';
import { familyIdOf } from '../release/family-id.js';
import type { Release } from '../release/release.js';
import {
  chooseDomains,
  uncovered,
  type AnnotatedProtein,
  type Domain,
  type FamilyName,
  type FoundDomain,
} from './domain.js';

export interface FindOptions {
  /** Largest E-value of a family's best domain, and largest conditional E-value of its others. */
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
 * Finds the domains of some proteins. What no domain covers is searched again, for domains beside stronger ones. The
 * E-value of a domain is that of the search that found it. Further domains of a family that the protein has need a
 * conditional E-value within the cut-off only.
 * A protein whose length or composition the calibration does not cover has no domains.
 * Errors  those of searchMany
 */
export async function findDomains(
  proteins: readonly NamedQuery[],
  engine: SearchEngine,
  options: FindOptions,
): Promise<readonly AnnotatedProtein[]> {
  const domains: (readonly FoundDomain[])[] = proteins.map(() => []);
  const accepted = proteins.map(() => new Set<string>());
  const unjudged = new Set<number>();
  let stretches: readonly Stretch[] = proteins.map((query, protein) => ({ protein, start: 0, query }));
  for (let round = 1; round <= options.rounds && stretches.length > 0; round += 1) {
    const found = await searchStretches(stretches, engine, options, round, { accepted, unjudged });
    for (const [protein, added] of found) domains[protein] = [...domains[protein], ...added];
    stretches = [...found.keys()].flatMap((protein) => restOf(proteins[protein], protein, domains[protein]));
  }
  return proteins.map(({ id, description, sequence }, index) => ({
    id,
    ...(description !== undefined && { description }),
    length: sequence.length,
    domains: domains[index]
      .map((domain) => withConditional(domain, accepted[index].size))
      // Families that later rounds accept raise the conditional E-values of earlier domains.
      .filter(
        (domain) => Math.min(domain.logEValue, domain.conditionalLogEValue) <= Math.log(options.maxEValue),
      )
      .toSorted((a, b) => a.start - b.start || a.end - b.end),
    ...(unjudged.has(index) && { hasNoEValues: true as const }),
  }));
}

function withConditional(domain: FoundDomain, acceptedCount: number): Domain {
  const share = logAcceptedShare(acceptedCount, domain.logCount);
  return { ...domain, conditionalLogEValue: domain.logEValue + share };
}

/** What the searches of all rounds say of whole proteins, by their positions. */
interface OfProteins {
  /** Ids of the families with an E-value within the cut-off. */
  readonly accepted: readonly Set<string>[];
  /** Proteins that the calibration does not cover. */
  readonly unjudged: Set<number>;
}

/** Returns the new domains of each protein that has any. */
async function searchStretches(
  stretches: readonly Stretch[],
  engine: SearchEngine,
  { maxEValue, settings, signal }: FindOptions,
  round: number,
  { accepted, unjudged }: OfProteins,
): Promise<ReadonlyMap<number, readonly FoundDomain[]>> {
  const results = await searchMany(
    stretches.map(({ query }) => query),
    {
      ...settings,
      evidence: 'pairwise_sequence_alignment',
      significance: 'if_available',
      ...furtherOf(engine.release, settings.targetSpace, maxEValue),
    },
    engine,
    signal,
  );
  const hits = results.map(({ candidates }, index) => {
    const { protein, start } = stretches[index];
    if (round === 1 && candidates.some(isOfUncoveredQuery)) unjudged.add(protein);
    return candidates.flatMap((candidate) => domainsOf(candidate, engine.release, start, round));
  });
  for (const [index, { protein }] of stretches.entries()) {
    for (const { family, logEValue } of hits[index]) {
      if (logEValue <= Math.log(maxEValue)) accepted[protein].add(family.id);
    }
  }
  const found = new Map<number, readonly FoundDomain[]>();
  for (const [index, { protein }] of stretches.entries()) {
    const families = accepted[protein];
    const chosen = chooseDomains(hits[index].filter((hit) => isAccepted(hit, families, maxEValue)));
    if (chosen.length > 0) found.set(protein, [...(found.get(protein) ?? []), ...chosen]);
  }
  return found;
}

/** Whether a domain counts. @param accepted  ids of the families that the protein has */
function isAccepted(
  { family, logEValue, logCount }: FoundDomain,
  accepted: ReadonlySet<string>,
  maxEValue: number,
): boolean {
  if (!accepted.has(family.id)) return false;
  const share = logAcceptedShare(accepted.size, logCount);
  return logEValue <= Math.log(largestListed(maxEValue, share, logCount));
}

function isOfUncoveredQuery({ significance }: Candidate): boolean {
  return significance.kind === 'unsupported' && significance.reason.startsWith('query_');
}

/**
 * Bounds of further alignments of a family with a protein, which are its repeats. Databases without homologs have none:
 * there, each alignment would be encoded anew (search/further.ts), and the next round finds the repeats, too.
 */
function furtherOf(
  { tokens }: Release,
  { searchedTargetCount }: SearchSettings['targetSpace'],
  maxEValue: number,
): Pick<SearchSettings, 'alignments'> {
  if (tokens.profiles === undefined) return {};
  const largest = Math.min(maxEValue, LARGEST_CONDITIONAL_PROBABILITY * searchedTargetCount);
  return { alignments: { maxCount: PAIR_ALIGNMENTS_MAX_COUNT, maxEValue: largest } };
}

/** Returns the domains of a family in a protein; none if the pair has no alignment or no E-value. */
function domainsOf(
  { significance, alignment, further, targetIndex }: Candidate,
  release: Release,
  offset: number,
  round: number,
): readonly FoundDomain[] {
  if (significance.kind !== 'supported' || alignment === undefined) return [];
  const family = familyOf(release, targetIndex);
  const best: Omit<FurtherAlignment, 'rawScore'> = further?.best ?? { ...alignment, significance };
  return [best, ...(further?.alignments ?? [])].map((each) => ({
    family,
    start: offset + each.queryStart,
    end: offset + each.queryEnd,
    familyStart: each.targetStart,
    familyEnd: each.targetEnd,
    logEValue: each.significance.logEValue,
    logCount: significance.population.logCount,
    bitScore: each.significance.bitScore,
    round,
  }));
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

function restOf(query: NamedQuery, protein: number, domains: readonly FoundDomain[]): readonly Stretch[] {
  const { sequence } = query;
  return uncovered(sequence.length, domains, LEAST_RESIDUES).map(([start, end]) => ({
    protein,
    start,
    query: { ...query, sequence: sequence.slice(start, end) },
  }));
}
