import { Refusal } from '../../errors.js';
import { familiesOf, type Family, type FamilyParameters } from '../../neighbours/families.js';
import { readNeighbours } from '../../neighbours/sidecar.js';
import { openRelease } from '../../release/open.js';
import type { Release } from '../../release/release.js';
import { calibrationId } from '../../significance/card.js';
import { readCalibrationCard } from '../../significance/sidecar.js';
import { cellText, idText } from '../../services/export/fields.js';
import type { LocatedRelease } from '../catalog.js';
import { inPieces } from './export.js';

export { FAMILY_PARAMETERS, type FamilyParameters } from '../../neighbours/families.js';

/** Families of a database, with the texts of the files that list them. */
export interface DatabaseFamilies {
  readonly releaseId: string;
  /** Graph of neighbours that they were made of. */
  readonly graphId: string;
  /** Whether the E-values of the graph are those of another calibration than the release has now. */
  readonly hasOtherCalibration: boolean;
  readonly targetCount: number;
  readonly familyCount: number;
  /** Families of one protein. */
  readonly loneCount: number;
  /** Members of the largest family; 0 in an empty database. */
  readonly largestSize: number;
  /** Text of each file in pieces, by the end of its name. */
  readonly files: Readonly<Record<(typeof FAMILY_FILES)[number], () => Iterable<string>>>;
}

/** Ends of the names of files: those of MMseqs2's easy-cluster, and the table of families. */
export const FAMILY_FILES = ['_cluster.tsv', '_rep_seq.fasta', '_families.tsv'] as const;

/**
 * Divides a database into families by its stored neighbours.
 * Errors  Refusal `export_not_possible` without neighbours, `invalid_option` for a larger E-value than theirs;
 *         Faults of damaged files
 * Cost    the graph, 24 bytes an edge, and what clusterByMcl takes, in memory
 */
export async function clusterDatabase(
  { slug, directory }: LocatedRelease,
  parameters: FamilyParameters,
): Promise<DatabaseFamilies> {
  const release = await openRelease(directory);
  const neighbours = await readNeighbours(release);
  if (neighbours === undefined) {
    throw new Refusal(
      'export_not_possible',
      `${slug} has no neighbours, which families are made of: run "gloaming index neighbours ${slug}" first.`,
    );
  }
  const { card, graph, id: graphId } = neighbours;
  if (parameters.largestEValue > card.max_expected) {
    throw new Refusal(
      'invalid_option',
      `The neighbours of ${slug} have E-values up to ${card.max_expected}; name a largest E-value up to that.`,
    );
  }
  const { targets } = release;
  const calibration = await readCalibrationCard(directory);
  const families = familiesOf(graph, (target) => targets.length(target), parameters);
  return {
    releaseId: release.id,
    graphId,
    hasOtherCalibration: calibration === undefined || calibrationId(calibration) !== card.calibration_id,
    targetCount: targets.count,
    familyCount: families.length,
    loneCount: families.filter(({ members }) => members.length === 1).length,
    largestSize: families[0]?.members.length ?? 0,
    files: {
      '_cluster.tsv': () => inPieces(memberLines(families, release)),
      '_rep_seq.fasta': () => inPieces(representativeRecords(families, release)),
      '_families.tsv': () => inPieces(familyLines(families, release)),
    },
  };
}

/** A line for each protein: its representative and itself. The first line of a family is that of its representative. */
function* memberLines(families: readonly Family[], { targets }: Release): Generator<string> {
  for (const { representative, members } of families) {
    const first = idText(targets.id(representative));
    const others = members.filter((member) => member !== representative);
    for (const member of [representative, ...others]) yield `${first}\t${idText(targets.id(member))}\n`;
  }
}

function* representativeRecords(families: readonly Family[], { targets }: Release): Generator<string> {
  for (const { representative } of families) {
    const name = targets.attribute(representative, 'name') ?? '';
    const header = `${idText(targets.id(representative))} ${cellText(String(name))}`.trimEnd();
    yield `>${header}\n${targets.sequence(representative)}\n`;
  }
}

const FAMILY_COLUMNS = [
  'family',
  'representative',
  'size',
  'mean_length',
  'name',
  'organism_count',
  'organisms',
  'common_taxon',
];
/** Organisms of a family that its line names. */
const NAMED_ORGANISMS = 5;

function* familyLines(families: readonly Family[], release: Release): Generator<string> {
  yield `${FAMILY_COLUMNS.join('\t')}\n`;
  const { targets } = release;
  for (const [at, { representative, members }] of families.entries()) {
    const residues = members.reduce((sum, member) => sum + targets.length(member), 0);
    const organisms = countOrganisms(members, release);
    const named = organisms.slice(0, NAMED_ORGANISMS).map(([name, count]) => `${name} (${count})`);
    const cells = [
      at + 1,
      idText(targets.id(representative)),
      members.length,
      Math.round(residues / members.length),
      targets.attribute(representative, 'name') ?? '',
      organisms.length,
      named.join('; '),
      commonTaxon(members, release) ?? '',
    ];
    yield `${cells.map((cell) => cellText(String(cell))).join('\t')}\n`;
  }
}

/** Organisms of the members with their counts, the most frequent first; equal counts by name. */
function countOrganisms(
  members: readonly number[],
  { targets }: Release,
): readonly (readonly [name: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const member of members) {
    const organism = targets.attribute(member, 'organism');
    if (organism === undefined || organism === '') continue;
    counts.set(String(organism), (counts.get(String(organism)) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/** Lowest taxon that all members with a taxid are in; undefined without a taxonomy. */
function commonTaxon(members: readonly number[], release: Release): string | undefined {
  const field = release.fields.find(({ isTaxonomy }) => isTaxonomy === true);
  if (field === undefined) return undefined;
  let common: readonly number[] | undefined;
  for (const member of members) {
    const taxid = release.targets.attribute(member, field.name);
    const lineage = typeof taxid === 'number' ? release.lineage(taxid).toReversed() : [];
    if (lineage.length === 0) continue;
    const path: readonly number[] = common ?? lineage;
    const end = path.findIndex((taxon, at) => taxon !== lineage[at]);
    common = end < 0 ? path : path.slice(0, end);
  }
  const last = common?.at(-1);
  return last === undefined ? undefined : release.taxonName(last);
}
