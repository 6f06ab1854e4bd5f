import { AMINO_ACIDS, BLOSUM62 } from '../sequence/substitution.js';
import type { Random } from '../random.js';
import { cumulative, draw } from './draws.js';
import { ENVIRONMENT_FREQUENCIES, randomLoop, type SiteTraits } from './structure.js';

/*
 * Sequence evolution in small steps of time. Only additions, multiplications, divisions, comparisons and one square
 * root are used, which IEEE 754 fixes to the bit: the same random numbers give the same proteins on every machine.
 *
 * Substitution   continuous-time Markov process of each environment of the fold: rate(a → b) = odds(a, b) ×
 *                frequency(b), where odds are those of BLOSUM62 (2 to the power of half its score: Henikoff &
 *                Henikoff 1992); reversible, so that the frequencies of the environment are its equilibrium
 * Rates          four classes of sites, the means of the quarters of an exponential distribution (discrete gamma
 *                of shape 1: Yang 1994)
 * Indels         as many insertions as deletions, of geometric length, rarer at slow sites
 * Unit of time   expected substitutions per site of average rate
 */

/** A protein under evolution: for each site its amino acid (index in AMINO_ACIDS), environment and rate. */
export interface Sites {
  readonly residues: Uint8Array;
  readonly environments: Uint8Array;
  readonly rateClasses: Uint8Array;
}

const RATES = [0.136954, 0.476752, 1, 2.386294];
const STEPS_PER_UNIT = 32;
/** Insertions and deletions together, for each substitution. */
const INDEL_RATE = 0.015;
const INDEL_EXTENSION = 0.6;
const INDEL_MAX_RESIDUES = 20;

const processes = ENVIRONMENT_FREQUENCIES.map(substitutionProcess);

/** Amino acids drawn from the equilibrium of their sites. */
export function populate(traits: readonly SiteTraits[], random: Random): Sites {
  return {
    residues: Uint8Array.from(traits, ({ environment }) => draw(processes[environment].equilibrium, random)),
    environments: Uint8Array.from(traits, ({ environment }) => environment),
    rateClasses: Uint8Array.from(traits, ({ rateClass }) => rateClass),
  };
}

/** What the sites have become after some time. */
export function evolve(sites: Sites, time: number, random: Random): Sites {
  let now: Sites = { ...sites, residues: sites.residues.slice() };
  const steps = Math.round(time * STEPS_PER_UNIT);
  for (let step = 0; step < steps; step += 1) now = evolveOneStep(now, random);
  return now;
}

export function joinSites(parts: readonly Sites[]): Sites {
  const gather = (key: keyof Sites): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part[key]]));
  return {
    residues: gather('residues'),
    environments: gather('environments'),
    rateClasses: gather('rateClasses'),
  };
}

export function sequenceOf({ residues }: Sites): string {
  return Array.from(residues, (residue) => AMINO_ACIDS[residue]).join('');
}

/** Substitutes in place; at most one indel per step, which is rare enough to come one at a time. */
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
  // A protein never dwindles to nothing.
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
  /** Running sums of the frequencies. */
  readonly equilibrium: readonly number[];
  /** Rate of leaving each amino acid; one substitution per unit of time on average. */
  readonly leaving: readonly number[];
  /** Where it goes to from each, as running sums. */
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

/** 2 to the power of half the score, without a power function, whose last bit machines may disagree on. */
function odds(score: number): number {
  const whole = Math.floor(score / 2);
  const power = whole < 0 ? 1 / (1 << -whole) : 1 << whole;
  return score % 2 === 0 ? power : power * Math.sqrt(2);
}
