import { evolve, joinSites, populate, type Sites } from './evolution.js';
import type { Random } from '../random.js';
import { between, integer, pick } from './draws.js';
import { randomLoop, randomStructure } from './structure.js';
import { ROOT_TAXID, type SimulatedTaxonomy, type TaxonomyNode } from './taxonomy.js';

/** A stretch of sequence that evolves as one and may be joined to others. */
export interface Domain {
  readonly label: string;
  readonly sites: Sites;
}

/** The founder of a family: which domains it has, and what all its descendants are called. */
export interface Founder {
  readonly family: string;
  /** The domain that arose in this family, and which others may take up. */
  readonly ownDomain: Domain;
  /** Labels of its domains; two proteins that share one are related. */
  readonly domains: readonly string[];
  readonly sites: Sites;
  /** Enzyme class in the manner of EC numbers; absent where the family is no enzyme. */
  readonly ecClass?: string;
}

/** A protein of today with the species that it is found in. */
export interface Descendant {
  readonly sites: Sites;
  readonly species: TaxonomyNode;
}

/** Share of families that took up a second domain, from a family that was there before. */
const SHUFFLED_SHARE = 0.35;
const ENZYME_SHARE = 0.6;
/** Age of the youngest split: nearer relatives would be copies of each other. */
const LEAST_AGE = 0.05;

/**
 * The founder of the next family: a domain of its own, often one shuffled in from an earlier family, and
 * fast-evolving linkers around them.
 */
export function found(index: number, earlier: readonly Founder[], random: Random): Founder {
  const family = `F${String(index + 1).padStart(3, '0')}`;
  const structure = randomStructure(integer(random, 60, 200), random);
  const ownDomain = { label: `D${family.slice(1)}`, sites: populate(structure, random) };
  const donor =
    earlier.length > 0 && random.share() < SHUFFLED_SHARE ? pick(earlier, random).ownDomain : undefined;
  // The donor's domain has gone its own way for a while before it is joined to this one.
  const taken = donor && { ...donor, sites: evolve(donor.sites, between(random, 0.3, 0.8), random) };
  const domains: Domain[] = taken === undefined ? [ownDomain] : [ownDomain, taken];
  if (random.share() < 0.5) domains.reverse();
  const isEnzyme = random.share() < ENZYME_SHARE;
  const ecClass = [7, 9, 20, 99].map((most) => integer(random, 1, most)).join('.');
  return {
    family,
    ownDomain,
    domains: domains.map(({ label }) => label),
    sites: joinSites([linker(random), ...domains.flatMap(({ sites }) => [sites, linker(random)])]),
    ...(isEnzyme ? { ecClass } : {}),
  };
}

/**
 * Descendants of a founder along a random tree. All are equally old; the two sides of a split at height h have
 * diverged for about 2 × h substitutions per site, so that a family holds near and far relatives.
 */
export function diverge(
  founder: Founder,
  count: number,
  height: number,
  taxonomy: SimulatedTaxonomy,
  random: Random,
): Descendant[] {
  const descend = (sites: Sites, leaves: number, age: number, taxid: number): Descendant[] => {
    if (leaves === 1) return [{ sites, species: speciesBelow(taxid, taxonomy, random) }];
    const left = integer(random, 1, leaves - 1);
    return [left, leaves - left].flatMap((size) => {
      const childAge = size === 1 ? 0 : LEAST_AGE + (age - LEAST_AGE) * between(random, 0.2, 0.95);
      const child = evolve(sites, (age - childAge) * between(random, 0.7, 1.3), random);
      return descend(child, size, childAge, narrower(taxid, taxonomy, random));
    });
  };
  return descend(founder.sites, count, height, ROOT_TAXID);
}

/** A species drawn from those below a taxon. */
export function speciesBelow(taxid: number, taxonomy: SimulatedTaxonomy, random: Random): TaxonomyNode {
  const children = taxonomy.children.get(taxid)!;
  if (children.length === 0) return taxonomy.nodes.find((node) => node.taxid === taxid)!;
  return speciesBelow(pick(children, random).taxid, taxonomy, random);
}

/** Near relatives mostly live in near organisms: a split of the genes is often one of the species too. */
function narrower(taxid: number, taxonomy: SimulatedTaxonomy, random: Random): number {
  const children = taxonomy.children.get(taxid)!;
  return children.length > 0 && random.share() < 0.5 ? pick(children, random).taxid : taxid;
}

function linker(random: Random): Sites {
  return populate(randomLoop(integer(random, 3, 20)), random);
}
