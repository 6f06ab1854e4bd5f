import { AMINO_ACIDS, BLOSUM62 } from '../sequence/substitution.js';
import type { Random } from '../random.js';
import { cumulative, draw } from './draws.js';
import { ENVIRONMENT_FREQUENCIES, randomLoop, type SiteTraits } from './structure.js';

/*
 * Simulates sequence evolution in small time steps. It uses only additions, multiplications, divisions, comparisons and
 * one square root, which IEEE 754 defines to the bit. Equal random numbers give equal proteins on every machine.
 *
 * Substitution   a continuous-time Markov process for each environment of the fold. The rate a → b is odds(a, b) ×
 *                frequency(b), with the odds 2^(score ÷ 2) of BLOSUM62 (Henikoff & Henikoff 1992). The process is
 *                reversible, so that the frequencies of the environment are its equilibrium.
 * Rates          four classes of sites, the means of the quarters of an exponential distribution (discrete gamma
 *                of shape 1: Yang 1994)
 * Indels         equal numbers of insertions and deletions with geometric lengths, rarer at slow sites
 * Unit of time   expected substitutions per site of average rate
 */

/** The sites of an evolving protein. Shape: [sites] each */
export interface Sites {
  /** Indices in AMINO_ACIDS. */
  readonly residues: Uint8Array;
  /** Indices in ENVIRONMENT_FREQUENCIES. */
  readonly environments: Uint8Array;
  /** 0 (slow) to 3 (fast). */
  readonly rateClasses: Uint8Array;
}

const RATES = [0.136954, 0.476752, 1, 2.386294];
const STEPS_PER_UNIT = 32;
/** Insertions and deletions per substitution. */
const INDEL_RATE = 0.015;
const INDEL_EXTENSION = 0.6;
const INDEL_MAX_RESIDUES = 20;

const processes = ENVIRONMENT_FREQUENCIES.map(substitutionProcess);

/** Draws the amino acid of each site from the equilibrium of its environment. */
export function populate(traits: readonly SiteTraits[], random: Random): Sites {
  return {
    residues: Uint8Array.from(traits, ({ environment }) => draw(processes[environment].equilibrium, random)),
    environments: Uint8Array.from(traits, ({ environment }) => environment),
    rateClasses: Uint8Array.from(traits, ({ rateClass }) => rateClass),
  };
}

/** Returns the sites after some time. Unit: expected substitutions per site of average rate */
export function evolve(sites: Sites, time: number, random: Random): Sites {
  let now: Sites = { ...sites, residues: sites.residues.slice() };
  const steps = Math.round(time * STEPS_PER_UNIT);
  for (let step = 0; step < steps; step += 1) now = evolveOneStep(now, random);
  return now;
}

/** Concatenates sites. */
export function joinSites(parts: readonly Sites[]): Sites {
  const gather = (key: keyof Sites): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part[key]]));
  return {
    residues: gather('residues'),
    environments: gather('environments'),
    rateClasses: gather('rateClasses'),
  };
}

/** Returns the sequence of one-letter codes. */
export function sequenceOf({ residues }: Sites): string {
  return Array.from(residues, (residue) => AMINO_ACIDS[residue]).join('');
}

/** Substitutes in place and applies at most one indel. Two indels in one step are rare enough to ignore. */
function evolveOneStep(sites: Sites, random: Random): Sites {
  const { residues, environments, rateClasses } = sites;
  let indel: number | undefined;
  for (let site = 0; site < residues.length; site += 1) {
    const rate = RATES[rateClasses[site]] / STEPS_PER_UNIT;
    const { leaving, targets } = processes[environments[site]];
    const chance = random.share();
    if (chance < leaving[residues[site]] * rate) {
      residues[site] = draw(targets[residues[site]], random);
    } else if (chance > 1 - INDEL_RATE * rate) {
      indel = site;
    }
  }
  if (indel === undefined) return sites;
  return random.share() < 0.5 ? insertAt(sites, indel, random) : deleteAt(sites, indel, random);
}

function insertAt(sites: Sites, site: number, random: Random): Sites {
  const inserted = populate(randomLoop(indelLength(random)), random);
  return joinSites([slice(sites, 0, site), inserted, slice(sites, site)]);
}

function deleteAt(sites: Sites, site: number, random: Random): Sites {
  const end = site + indelLength(random);
  // Deletions never shorten a protein below 40 residues.
  if (sites.residues.length - (end - site) < 2 * INDEL_MAX_RESIDUES) return sites;
  return joinSites([slice(sites, 0, site), slice(sites, end)]);
}

function slice({ residues, environments, rateClasses }: Sites, start: number, end?: number): Sites {
  return {
    residues: residues.slice(start, end),
    environments: environments.slice(start, end),
    rateClasses: rateClasses.slice(start, end),
  };
}

function indelLength(random: Random): number {
  let length = 1;
  while (length < INDEL_MAX_RESIDUES && random.share() < INDEL_EXTENSION) length += 1;
  return length;
}

interface SubstitutionProcess {
  /** Cumulative sums of the frequencies. */
  readonly equilibrium: readonly number[];
  /** Substitution rate of each amino acid; one substitution per unit of time on average. */
  readonly leaving: readonly number[];
  /** Probabilities of the new amino acid for each old one, as cumulative sums. */
  readonly targets: readonly (readonly number[])[];
}

function substitutionProcess(frequencies: readonly number[]): SubstitutionProcess {
  const rates = BLOSUM62.map((row, from) =>
    row.map((score, to) => (from === to ? 0 : odds(score) * frequencies[to])),
  );
  const totals = rates.map((row) => row.reduce((sum, rate) => sum + rate, 0));
  const mean = totals.reduce((sum, total, residue) => sum + total * frequencies[residue], 0);
  return {
    equilibrium: cumulative(frequencies),
    leaving: totals.map((total) => total / mean),
    targets: rates.map(cumulative),
  };
}

/** Returns 2^(score ÷ 2). A power function could differ in the last bit between machines. */
function odds(score: number): number {
  const whole = Math.floor(score / 2);
  const power = whole < 0 ? 1 / (1 << -whole) : 1 << whole;
  return score % 2 === 0 ? power : power * Math.sqrt(2);
}
