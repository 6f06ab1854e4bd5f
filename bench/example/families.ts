/*
 * Remote families of the demo, by the names that UniProt gives to proteins. A name says what a protein is called. A
 * family also has members under other names, so that a find without the name is not wrong.
 */

/** Proteins with one fold and, as far as is known, one ancestor. */
export interface NamedFamily {
  readonly name: string;
  /** Matches the name of a protein, without organism and gene. */
  readonly members: RegExp;
  /** Matches the names of other proteins that `members` matches, too. */
  readonly others: RegExp;
}

/** Matches nothing. */
const NONE = /(?!)/;

export const FAMILIES: readonly NamedFamily[] = [
  family(
    'thioredoxin fold',
    [
      'thioredoxin|glutaredoxin|peroxiredoxin|chaperedoxin|redoxin domain|thiol peroxidase|ahpc',
      'alkyl hydroperoxide reductase|protein disulfide.isomerase|disulfide bond protein [ac]',
      'thiol:disulfide interchange protein dsb[acdeg]|glutathione (s-?)?transferase|glutathione peroxidase',
      'bacterioferritin comigratory|arsenate reductase|protein sco[12]',
    ],
    ['thioredoxin reductase|ferredoxin-thioredoxin|osmc|associated protein'],
  ),
  family(
    'globin',
    ['globin|phycocyanin|phycoerythrin|phycobili|flavohemo'],
    ['lyase|linker|isomerase|degradation|core'],
  ),
  family(
    'actin, HSP70, hexokinase',
    [
      '\\bactin\\b|actin-(like|related)|dnak|hsp70|heat shock protein (70|ss[abcez]|homolog)|chaperone protein hsc[ac]',
      '(hexo|gluco|acetate )kinase|(glycerol|xylulose|xylulo|ribulo)( kinase|kinase)',
      'shape-determining protein mreb|cell division protein ftsa|luminal',
    ],
    [
      'actin.(binding|capping|interacting|depoly|patches|regulating)|f-actin|complex|diacylglycerol',
      'co-?chaperone|suppressor|regulatory|exchange|organizing|phosphoribulo',
    ],
  ),
  family(
    'ubiquitin-like',
    [
      'ubiquitin$|ubiquitin-(like|60|40)|ubiquitin domain|smt3|nedd8|autophagy-related protein (8|12)$|atg12|urm1',
      'sulfur carrier protein|molybdopterin synthase sulfur carrier|molybdopterin-converting factor',
    ],
    [
      'ligase|protease|conjugating|activating|hydrolase|carboxyl|adenylyl|subunit 2|dissociated',
      'yedf|yeed|yrki|tusa|fdhd|slr0821|zinc finger',
    ],
  ),
  family(
    'P-loop kinase',
    [
      '(adenylate|guanylate|thymidylate|shikimate|uridine|cytidylate|adenylyl-?sulfate|ump-cmp|cmp) kinase',
      'dephospho-coa kinase|gluconokinase|pantothenate kinase',
    ],
    ['cyclase|type iii|deoxygluconokinase|pseudouridine|cab1|pantothenate kinase [12]'],
  ),
  family(
    'GTPase',
    ['\\bras\\b|\\brab|ras-like|ypt\\d|elongation factor (tu|1-alpha)|\\brho\\d|septin|gtpase (era|der|obg)'],
    [
      'activating|exchange|inhibitor|escort|geranyl|negative|px domain|prenylated|interacting|modification|septin$',
    ],
  ),
  family(
    'response regulator',
    ['response regulator|chey'],
    ['phosphatase|ph-response|inhibitor|hybrid|arsr|chew'],
  ),
  family(
    'Sm, LSm, Hfq',
    ['\\blsm\\d|small nuclear ribonucleoprotein|rna-binding protein hfq|\\bsm protein'],
    ['\\bu[1245]\\b'],
  ),
  family(
    'tubulin, FtsZ',
    ['tubulin (alpha|beta|gamma|epsilon|delta)|tubulin.*chain|cell division protein ftsz'],
    ['binding|cofactor|folding|tyrosine'],
  ),
  family(
    'RecA, Rad51',
    ['protein reca\\b|\\brad5[157]\\b|dmc1|dna repair protein rada|protein kinase kaic'],
    [],
  ),
  family(
    'histone fold',
    ['histone h[234]|tfiid subunit (4|6|9|1[0-3])|dna polymerase epsilon subunit [cd]'],
    ['methyl|acetyl|chaperone|transfer|-n-|kinase|specific'],
  ),
  family('cupredoxin', ['plastocyanin|azurin|multicopper|cupredoxin|blue copper'], []),
  family('cytochrome c', ['^cytochrome c(\\d+|-\\d+)?($|,| iso)'], ['oxidase|biogenesis|maturation|lyase']),
  family(
    'Ser/Thr kinase',
    [
      'serine/threonine.protein kinase|cyclin-dependent kinase|casein kinase|calcium-dependent protein kinase',
    ],
    ['subunit beta|regulat|inhibitor|phosphatase'],
  ),
  family(
    'malate, lactate dehydrogenase',
    ['(malate|lactate) dehydrogenase'],
    ['oxaloacetate|quinone|isopropyl|d-lactate|d-malate|operon'],
  ),
];

/** Returns the family that a protein is named after, or undefined. @param title header of UniProt without its id */
export function familyOf(title: string): NamedFamily | undefined {
  const [name] = title.split(/ (?:OS|OX|GN|PE|SV)=/);
  return FAMILIES.find(({ members, others }) => members.test(name) && !others.test(name));
}

function family(name: string, members: readonly string[], others: readonly string[]): NamedFamily {
  const anyOf = (patterns: readonly string[]): RegExp => new RegExp(patterns.join('|'), 'i');
  return { name, members: anyOf(members), others: others.length === 0 ? NONE : anyOf(others) };
}
