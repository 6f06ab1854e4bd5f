import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { ALIGNMENTS_EXPECTED_FALSE_HITS } from '../../src/limits.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { searchMany } from '../../src/search/search.js';
import { eValueOf } from '../../src/search/pairs/candidate-significance.js';
import type { SearchEngine, SearchSettings } from '../../src/search/search-types.js';
import { fastaFile, readFasta } from '../../src/sequence/fasta.js';
import { parseFastaHeader } from '../../src/sequence/fasta-header.js';
import { normaliseProtein } from '../../src/sequence/protein.js';
import { reversed } from '../../src/significance/control.js';
import type { Bench } from '../main.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { readLabels } from '../tools/labels.js';
import { readProteins, spaced, type BenchProtein } from '../tools/proteins.js';
import { domainPairs, fusionsOf, placeInFusion, placeOfPiece, type Fusion } from './fusions.js';
import { coversHalf, isNear, isWithin, overlaps, placesOf, type JudgedPlace } from './places.js';
import { agreementOf, blastHsps, KINDS, ofKind, pairKey, type NamedProtein } from './real.js';

/*
 * Measures several alignments of one pair.
 *
 *   npm run bench -- domains FOLDER [pairs] [background] [fusions,real] [fusions of each kind] [reversed proteins]
 *
 * Fusions: pairs of domains of one superfamily that the encoder was not trained on are fused, once with the domains
 * in another order ("swap"), once with a domain twice ("repeat"). All singles and fusions are in one database, so that
 * their E-values compare. A piece is at its place if an alignment covers half of that of the two single domains, and
 * reaches at most 10 residues over the ends of the domains. It has the same ends if all four are within 10 residues of
 * the alignment of the single domains. A longer alignment of the same domains is at its place without the same ends.
 * False alignments are those that overlap no piece. Reversed proteins are queries of unrelated pairs.
 * Real proteins: proteins of kinds that have repeats or several domains, by their names, against themselves and other
 * proteins of six proteomes, beside the HSPs of blastp of the same pairs.
 */

const LARGEST_E = 10;
/** Cut-off of the targets that conditional E-values count among: the default of a search. */
const ACCEPTED_E = ALIGNMENTS_EXPECTED_FALSE_HITS;
const CUT_OFFS = [1e-3, 1e-2] as const;
const END_RESIDUES = 10;
const QUERIES_OF_KIND = 4;
const TARGETS_OF_KIND = 40;
const CHUNK = 20;
const DECOY_CUT_OFFS = [10, 1, 0.1, 0.01, 0.001] as const;
const DECOY_RESIDUES = 2_000;

/** Alignments of the wanted pairs, by `pairKey`. */
type Places = ReadonlyMap<string, readonly JudgedPlace[]>;

export const run: Bench = async ([
  folder = 'domains',
  pairCount = '400',
  backgroundCount = '1000',
  parts = 'fusions,real',
  fusionCount = '200',
  decoyCount = '60',
]) => {
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const scope = join(shared, 'data', 'scope40');
  if (!existsSync(join(scope, 'labels.tsv'))) {
    console.log('Skipped: it needs the labelled domains.');
    return { skipped: 'no data' };
  }
  await mkdir(folder, { recursive: true });
  const environment = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...environment }));
  const open = (targets: readonly BenchProtein[], slug: string): Promise<SearchEngine> =>
    openCalibrated(appliance, targets, slug, folder);
  try {
    const sample = await readNamed(join(shared, 'data', 'uniprot-sample.fasta.gz'));
    const counts = {
      pairs: Number(pairCount),
      background: Number(backgroundCount),
      fusions: Number(fusionCount),
      decoys: Number(decoyCount),
    };
    const fusions = parts.includes('fusions') ? await measureFusions(scope, sample, counts, open) : {};
    const real = parts.includes('real') ? { real: await measureReal(sample, counts, folder, open) } : {};
    return { ...fusions, ...real };
  } finally {
    await appliance.close();
  }
};

interface Counts {
  readonly pairs: number;
  readonly background: number;
  readonly fusions: number;
  readonly decoys: number;
}

type Open = (targets: readonly BenchProtein[], slug: string) => Promise<SearchEngine>;

async function measureFusions(scope: string, sample: readonly NamedProtein[], counts: Counts, open: Open) {
  const labels = readLabels(join(scope, 'labels.tsv'));
  const { list: domains } = await readProteins(join(scope, 'domains.fasta'));
  const all = domainPairs(domains, labels, ({ isDev }) => isDev);
  const pairs = spaced(all, counts.pairs);
  const { swaps, repeats } = fusionsOf(pairs, (id) => labels.get(id)!.foldGroup);
  const background = spaced(sample, counts.background);
  const targets = [...pairs, ...swaps, ...repeats].map(({ target }) => target).concat(background);
  const engine = await open(targets, 'fusions');
  const fusions = { swap: spaced(swaps, counts.fusions), repeat: spaced(repeats, counts.fusions) };
  const used = new Set(
    [...fusions.swap, ...fusions.repeat].flatMap(({ pieces }) => pieces.map(({ pair }) => pair)),
  );
  const alone = await alignmentsOf([...used], engine);
  const figures: Record<string, unknown> = {
    domain_pairs: used.size,
    fusions_of_each_kind: fusions.swap.length,
    targets: targets.length,
  };
  for (const [name, fused] of Object.entries(fusions)) {
    const places = await alignmentsOf(fused, engine);
    for (const cutOff of CUT_OFFS) {
      const measured = countPieces(fused, alone, places, cutOff);
      figures[`${name}, E ≤ ${cutOff}`] = measured;
      console.log(`${name}, E ≤ ${cutOff}: ${JSON.stringify(measured)}`);
    }
    const wrong = falseAlignments(fused, places, LARGEST_E);
    const claimed = (fused.length * LARGEST_E) / targets.length;
    figures[`${name}: false further alignments, E ≤ ${LARGEST_E}`] = {
      found: wrong,
      claimed_at_most: claimed,
    };
    console.log(
      `${name}: ${wrong} false further alignments with E ≤ ${LARGEST_E}, at most ${claimed} claimed`,
    );
    const listed = await alignmentsOf(fused, engine, ACCEPTED_E);
    const conditional = withConditional(listed);
    for (const cutOff of CUT_OFFS) {
      const measured = {
        ...countPieces(fused, alone, conditional, cutOff),
        false_further: falseAlignments(fused, conditional, cutOff),
        claimed_at_most: fused.length * cutOff,
      };
      figures[`${name}, E ≤ ${ACCEPTED_E}, conditional E ≤ ${cutOff}`] = measured;
      console.log(`${name}, E ≤ ${ACCEPTED_E}, conditional E ≤ ${cutOff}: ${JSON.stringify(measured)}`);
    }
  }
  figures.reversed = await countDecoys(spaced(background, counts.decoys), engine);
  console.log(`reversed proteins: ${JSON.stringify(figures.reversed)}`);
  return figures;
}

/** Alignments of reversed proteins by E-value, for one query: of pairs, of best alignments, and of further ones. */
async function countDecoys(proteins: readonly BenchProtein[], engine: SearchEngine) {
  const queries = proteins.filter(({ sequence }) => sequence.length <= DECOY_RESIDUES);
  const counts = Object.fromEntries(
    DECOY_CUT_OFFS.map((cutOff) => [cutOff, { pairs: 0, best: 0, further: 0 }]),
  );
  for (const { sequence } of queries) {
    const query = { sequence: reversed(sequence), normalizationId: 'as-read' };
    const [{ candidates }] = await searchMany([query], settingsOf(engine), engine);
    for (const candidate of candidates) {
      const [best, ...further] = placesOf(candidate);
      for (const cutOff of DECOY_CUT_OFFS) {
        counts[cutOff].pairs += (eValueOf(candidate) ?? Infinity) <= cutOff ? 1 : 0;
        counts[cutOff].best += best !== undefined && best.eValue <= cutOff ? 1 : 0;
        counts[cutOff].further += further.filter(({ eValue }) => eValue <= cutOff).length;
      }
    }
  }
  return { queries: queries.length, found_up_to_e: counts };
}

/** Pieces that are found alone, and what becomes of them in the fusion. */
function countPieces(fusions: readonly Fusion[], alone: Places, fused: Places, cutOff: number) {
  let foundAlone = 0;
  let atPlace = 0;
  let sameEnds = 0;
  let overlapping = 0;
  let weaker = 0;
  const lost = { 'no alignment': 0, 'first: ends': 0, 'first: E': 0, 'further: ends': 0, 'further: E': 0 };
  for (const { query, target, pieces } of fusions) {
    const places = fused.get(pairKey(query.id, target.id)) ?? [];
    for (const piece of pieces) {
      const [single] = alone.get(pairKey(piece.pair.query.id, piece.pair.target.id)) ?? [];
      if (single === undefined || single.eValue > cutOff) continue;
      foundAlone += 1;
      const wanted = placeInFusion(single, piece);
      const domains = placeOfPiece(piece);
      const near = places.filter(
        (place) => coversHalf(place, wanted) && isWithin(place, domains, END_RESIDUES),
      );
      const found = places.filter(({ eValue }) => eValue <= cutOff);
      if (found.some((place) => isNear(place, wanted, END_RESIDUES))) sameEnds += 1;
      if (near.some(({ eValue }) => eValue <= cutOff)) atPlace += 1;
      else
        lost[lossOf(places, near[0] ?? places.find((place) => overlaps(place, wanted)), near.length > 0)] +=
          1;
      if (near.length > 0) weaker += 1;
      if (found.some((place) => overlaps(place, wanted))) overlapping += 1;
    }
  }
  const share = (count: number): number => (foundAlone === 0 ? 0 : count / foundAlone);
  return {
    found_alone: foundAlone,
    at_place: share(atPlace),
    at_place_up_to_e_10: share(weaker),
    same_ends: share(sameEnds),
    overlapping: share(overlapping),
    lost,
  };
}

/** Why a piece is not at its place: the kind of the alignment that it has, and whether its ends or its E-value fail. */
function lossOf(places: readonly JudgedPlace[], found: JudgedPlace | undefined, isNearIt: boolean) {
  if (found === undefined) return 'no alignment';
  const order = found === places[0] ? 'first' : 'further';
  return `${order}: ${isNearIt ? 'E' : 'ends'}` as const;
}

/** The same places with conditional E-values as their E-values. */
function withConditional(places: Places): Places {
  return new Map(
    [...places].map(([key, list]) => [
      key,
      list.map((place) => ({ ...place, eValue: place.conditionalEValue ?? Infinity })),
    ]),
  );
}

/** Further alignments that overlap no piece. */
function falseAlignments(fusions: readonly Fusion[], fused: Places, cutOff: number): number {
  let count = 0;
  for (const { query, target, pieces } of fusions) {
    const [, ...further] = fused.get(pairKey(query.id, target.id)) ?? [];
    const wanted = pieces.map(placeOfPiece);
    const found = further.filter(({ eValue }) => eValue <= cutOff);
    count += found.filter((place) => !wanted.some((piece) => overlaps(place, piece))).length;
  }
  return count;
}

async function measureReal(sample: readonly NamedProtein[], counts: Counts, folder: string, open: Open) {
  const kinds = Object.entries(KINDS).map(([name, kind]) => ({
    name,
    queries: ofKind(sample, kind, QUERIES_OF_KIND),
    targets: ofKind(sample, kind, TARGETS_OF_KIND),
  }));
  const wanted = new Map<string, BenchProtein>();
  for (const { queries, targets } of kinds)
    for (const each of [...queries, ...targets]) wanted.set(each.id, each);
  for (const each of spaced(sample, counts.background)) wanted.set(each.id, each);
  const targets = [...wanted.values()];
  const engine = await open(targets, 'real');
  const [cutOff] = CUT_OFFS;
  const figures: Record<string, unknown> = {};
  for (const { name, queries } of kinds) {
    if (queries.length === 0) continue;
    const pairs = queries.flatMap((query) => targets.map((target) => ({ query, target })));
    const ours = await alignmentsOf(pairs, engine);
    const blast = await blastHsps(queries, targets, cutOff, folder);
    const agreement = agreementOf(
      pairs.map(({ query, target }) => {
        const key = pairKey(query.id, target.id);
        const within = (places: readonly JudgedPlace[] = []): readonly JudgedPlace[] =>
          places.filter(({ eValue }) => eValue <= cutOff);
        return { blast: within(blast.get(key)), ours: within(ours.get(key)) };
      }),
    );
    figures[name] = agreement;
    console.log(`${name}: ${JSON.stringify(agreement)}`);
  }
  return figures;
}

/** Searches each query once and returns the alignments of the wanted pairs. */
async function alignmentsOf(
  pairs: readonly { readonly query: BenchProtein; readonly target: BenchProtein }[],
  engine: SearchEngine,
  maxEValue = LARGEST_E,
): Promise<Places> {
  const { targets } = engine.release;
  const wanted = new Set(pairs.map(({ query, target }) => pairKey(query.id, target.id)));
  const queries = [...new Map(pairs.map(({ query }) => [query.id, query])).values()];
  const places = new Map<string, readonly JudgedPlace[]>();
  const settings = settingsOf(engine, maxEValue);
  for (let start = 0; start < queries.length; start += CHUNK) {
    const chunk = queries.slice(start, start + CHUNK);
    const named = chunk.map(({ sequence }) => ({ sequence, normalizationId: 'as-read' }));
    for (const [at, { candidates }] of (await searchMany(named, settings, engine)).entries()) {
      for (const candidate of candidates) {
        const key = pairKey(chunk[at].id, targets.id(candidate.targetIndex));
        if (wanted.has(key)) places.set(key, placesOf(candidate));
      }
    }
  }
  return places;
}

function settingsOf({ release }: SearchEngine, maxEValue = LARGEST_E): SearchSettings {
  return {
    targetSpace: unfilteredSpace(release),
    limit: release.targets.count,
    evidence: 'pairwise_sequence_alignment',
    guarantee: 'exhaustive',
    significance: 'if_available',
    alignedMaxEValue: LARGEST_E,
    alignments: { maxCount: 50, maxEValue },
  };
}

async function readNamed(path: string): Promise<readonly NamedProtein[]> {
  const list: NamedProtein[] = [];
  for await (const { header, text } of readFasta(fastaFile(path))) {
    const { id, name, description } = parseFastaHeader(header);
    list.push({ id, name: name ?? description ?? '', sequence: normaliseProtein(text).sequence });
  }
  return list;
}
