/** A family that aligns with a stretch of a protein. Coordinates are zero-based and half-open. */
export interface FoundDomain {
  readonly family: FamilyName;
  readonly start: number;
  readonly end: number;
  /** Stretch of the family's consensus, or of the member that the database has in its place. */
  readonly familyStart: number;
  readonly familyEnd: number;
  /** Natural logarithm of the E-value of the search that found it. */
  readonly logEValue: number;
  /** Natural logarithm of the number of families that the E-value counts among. */
  readonly logCount: number;
  readonly bitScore: number;
  /** Round of the search, from 1. Later rounds search what earlier ones left uncovered. */
  readonly round: number;
}

/** A domain of a protein whose families are all known. */
export interface Domain extends FoundDomain {
  /** Natural logarithm of the conditional E-value, which counts only families with hits in the protein. */
  readonly conditionalLogEValue: number;
  /** Whether another annotation, which was given, does not have it. Absent if none was given. */
  readonly isNew?: boolean;
}

/** Family as the attributes of its target name it. */
export interface FamilyName {
  readonly id: string;
  readonly name: string;
  readonly accession?: string;
  readonly description?: string;
  readonly clan?: string;
  readonly type?: string;
  /** Residues of the consensus or of that member. */
  readonly length: number;
}

/** A protein with its domains in the order of their starts. */
export interface AnnotatedProtein {
  readonly id: string;
  readonly description?: string;
  /** Residues. */
  readonly length: number;
  readonly domains: readonly Domain[];
  /** True if the calibration does not cover its length or composition, so that no domain can be found. */
  readonly hasNoEValues?: true;
  /** Whether another annotation, which was given, has a domain in the protein. Absent if none was given. */
  readonly hasGiven?: boolean;
}

/** Two domains may share so many residues at their ends, because ends of alignments are uncertain. */
const MOST_SHARED_RESIDUES = 10;
/** The same as a share of the shorter domain. */
const MOST_SHARED_SHARE = 0.2;

/**
 * Chooses the domains of one protein. Of overlapping domains of one clan or family the one with the smallest E-value
 * stays. Of all sets without overlaps of the others, the one with the largest sum of bit scores is chosen.
 * Source  clan competition: Pfam (Finn et al. 2010); weighted interval scheduling (Kleinberg & Tardos 2005, 6.1)
 */
export function chooseDomains(hits: readonly FoundDomain[]): readonly FoundDomain[] {
  return bestSet(withoutRivals(hits)).toSorted((a, b) => a.start - b.start || a.end - b.end);
}

function withoutRivals(hits: readonly FoundDomain[]): readonly FoundDomain[] {
  const kept: FoundDomain[] = [];
  const byEvidence = hits.toSorted(
    (a, b) => a.logEValue - b.logEValue || b.bitScore - a.bitScore || (a.family.id < b.family.id ? -1 : 1),
  );
  for (const hit of byEvidence) {
    const isBeaten = kept.some(
      (other) => areRivals(hit, other) && hit.start < other.end && other.start < hit.end,
    );
    if (!isBeaten) kept.push(hit);
  }
  return kept;
}

function areRivals({ family: a }: FoundDomain, { family: b }: FoundDomain): boolean {
  return a.id === b.id || (a.clan !== undefined && a.clan === b.clan);
}

/** A domain without the residues at each end that another one may share. */
interface Core {
  readonly domain: FoundDomain;
  readonly start: number;
  readonly end: number;
}

function coreOf(domain: FoundDomain): Core {
  const shared = Math.min(MOST_SHARED_RESIDUES, MOST_SHARED_SHARE * (domain.end - domain.start));
  const cut = Math.floor(shared / 2);
  return { domain, start: domain.start + cut, end: domain.end - cut };
}

/** Cores do not overlap, and the sum of their bit scores is largest. */
function bestSet(hits: readonly FoundDomain[]): readonly FoundDomain[] {
  const cores = hits.map(coreOf).toSorted((a, b) => a.end - b.end || a.start - b.start);
  /** Best sum of the first `count` cores. */
  const sums = [0];
  /** Number of cores that end before each core starts. */
  const before = cores.map(({ start }, index) => {
    let count = index;
    while (count > 0 && cores[count - 1].end > start) count -= 1;
    return count;
  });
  for (const [index, { domain }] of cores.entries()) {
    sums.push(Math.max(sums[index], sums[before[index]] + Math.max(0, domain.bitScore)));
  }
  const chosen: FoundDomain[] = [];
  for (let count = cores.length; count > 0;) {
    const { domain } = cores[count - 1];
    const isChosen = sums[count] > sums[count - 1];
    if (isChosen) chosen.push(domain);
    count = isChosen ? before[count - 1] : count - 1;
  }
  return chosen;
}

/** Returns the stretches of at least `least` residues between domains and at both ends, ascending. */
export function uncovered(
  length: number,
  domains: readonly Pick<Domain, 'start' | 'end'>[],
  least: number,
): readonly (readonly [start: number, end: number])[] {
  const stretches: [number, number][] = [];
  let from = 0;
  for (const { start, end } of domains.toSorted((a, b) => a.start - b.start)) {
    if (start - from >= least) stretches.push([from, start]);
    from = Math.max(from, end);
  }
  if (length - from >= least) stretches.push([from, length]);
  return stretches;
}
