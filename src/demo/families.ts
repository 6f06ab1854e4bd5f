import { evolve, joinSites, populate, type Sites } from './evolution.js';
import type { Random } from '../random.js';
import { between, integer, pick } from './draws.js';
import { randomLoop, randomStructure } from './structure.js';
import { ROOT_TAXID, type SimulatedTaxonomy, type TaxonomyNode } from './taxonomy.js';

/** A part of a protein that evolves as a unit and can be combined with others. */
export interface Domain {
  readonly label: string;
  readonly sites: Sites;
}

/** The common ancestor of a family. */
export interface Founder {
  readonly family: string;
  /** The domain that arose in this family and that later families may acquire. */
  readonly ownDomain: Domain;
  /** Labels of its domains. Two proteins that share a label are homologs. */
  readonly domains: readonly string[];
  readonly sites: Sites;
  /** Enzyme class in the form of an EC number; absent if the family is not an enzyme. */
  readonly ecClass?: string;
}

/** A present-day protein with its species. */
export interface Descendant {
  readonly sites: Sites;
  readonly species: TaxonomyNode;
}

/** Share of families that acquire a second domain from an earlier family. */
const SHUFFLED_SHARE = 0.35;
const ENZYME_SHARE = 0.6;
/** Age of the youngest split. Closer homologs would be copies of each other. */
const LEAST_AGE = 0.05;

/**
 * Creates the founder of the next family: a new domain, often a domain of an earlier family, and fast-evolving linkers
 * around them.
 */
export function createFounder(index: number, earlier: readonly Founder[], random: Random): Founder {
  const family = `F${String(index + 1).padStart(3, '0')}`;
  const structure = randomStructure(integer(random, 60, 200), random);
  const ownDomain = { label: `D${family.slice(1)}`, sites: populate(structure, random) };
  const donor =
    earlier.length > 0 && random.share() < SHUFFLED_SHARE ? pick(earlier, random).ownDomain : undefined;
  // The acquired domain has diverged from the donor's before it is joined.
  const domain = donor && { ...donor, sites: evolve(donor.sites, between(random, 0.3, 0.8), random) };
  const domains: Domain[] = domain === undefined ? [ownDomain] : [ownDomain, domain];
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
 * Evolves the descendants of a founder along a random tree. All have the same age. The two sides of a split at height h
 * differ by about 2 × h substitutions per site, so that a family contains close and remote homologs.
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

/** Draws a species below a taxon. */
export function speciesBelow(taxid: number, taxonomy: SimulatedTaxonomy, random: Random): TaxonomyNode {
  const children = taxonomy.children.get(taxid)!;
  if (children.length === 0) return taxonomy.nodes.find((node) => node.taxid === taxid)!;
  return speciesBelow(pick(children, random).taxid, taxonomy, random);
}

/** Draws the taxon of one side of a split. Half of the splits of genes are splits of species, too. */
function narrower(taxid: number, taxonomy: SimulatedTaxonomy, random: Random): number {
  const children = taxonomy.children.get(taxid)!;
  return children.length > 0 && random.share() < 0.5 ? pick(children, random).taxid : taxid;
}

function linker(random: Random): Sites {
  return populate(randomLoop(integer(random, 3, 20)), random);
}
