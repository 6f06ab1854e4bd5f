import type { BuildReport, LargerRelease, Notice } from '../../pipelines/events/notices.js';
import type { HomologSource, HomologsManifest } from '../../release/release.js';
import { formatDuration, formatQuantity, formatRate } from '../terminal/progress.js';
import { shortId } from '../../pipelines/catalog.js';

/** Describes a built release in a dozen lines. */
export function describeBuild({
  report,
  isServerDefault,
  larger,
}: Extract<Notice, { readonly kind: 'built' }>): string {
  const { release, replaced, notes } = report;
  const { slug, id, manifest, directory } = release;
  const { counts, encoder, relatives: homologs } = manifest;
  const letters = Object.entries(replaced)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([letter, count]) => `${count.toLocaleString('en')} ${letter}`);
  const facts: readonly (readonly [string, string])[] = [
    ['release', id],
    ['proteins', counts.targets.toLocaleString('en')],
    ['residues', counts.residues.toLocaleString('en')],
    ['replaced letters', letters.length === 0 ? 'none' : letters.join(', ')],
    ['encoder', `${encoder.id}, ${encoder.dimension} dimensions`],
    ...(homologs === undefined ? [] : [['homologs', describeHomologs(homologs, counts.targets)] as const]),
    ['size', `${formatQuantity(report.sizeBytes, 'B')} in ${directory}`],
    ...(report.encodedResidues === 0 ? [] : [['encoded', describeEncoding(report)] as const]),
    ...(report.reusedResidues === 0 ? [] : [['reused', describeReuse(report)] as const]),
    ...notes.map((note) => ['note', note] as const),
    ...(larger === undefined ? [] : describeLarger(slug, larger)),
  ];
  const head = report.isKnown ? `${slug} is this release already; nothing was built.` : `Built ${slug}.`;
  const lines = facts.map(([name, value]) => `  ${name.padEnd(16)}  ${value}`);
  const option = isServerDefault ? '' : ` --database ${slug}`;
  const isDefault = isServerDefault ? `Searches that name no database search ${slug}.\n` : '';
  return `${head}\n${lines.join('\n')}\n\nSearch it:  gloaming search query.fasta${option}\n${isDefault}`;
}

function describeLarger(
  slug: string,
  { id, proteins }: LargerRelease,
): readonly (readonly [string, string])[] {
  return [
    ['before', `${proteins.toLocaleString('en')} proteins in ${shortId(id)}, which stays`],
    ['to go back', `gloaming index default ${slug} --release ${shortId(id)}`],
  ];
}

function describeEncoding({ encodedResidues, encodeMs }: BuildReport): string {
  // What takes less than a second has no meaningful rate: nearly all of it was reused.
  if (encodeMs < 1000) return formatQuantity(encodedResidues, 'residues');
  const rate = (encodedResidues * 1000) / encodeMs;
  return `${formatRate(rate, 'residues')} in ${formatDuration(encodeMs)}`;
}

/** Says which share of the residues earlier releases had; after an interruption, of those that were left. */
function describeReuse({ encodedResidues, reusedResidues }: BuildReport): string {
  const share = (100 * reusedResidues) / (encodedResidues + reusedResidues);
  return `${formatQuantity(reusedResidues, 'residues')} of earlier releases (${share.toFixed(1)} %)`;
}

function describeHomologs(
  { background: homologSource, counts }: HomologsManifest,
  targetCount: number,
): string {
  const [homologs, targets, all] = [counts.relatives, counts.targets, targetCount].map((count) =>
    count.toLocaleString('en'),
  );
  const what = homologSource.method === 'families' ? 'families' : 'proteins';
  return `${homologs} homologs of ${targets} of ${all} ${what}, by ${describeHomologSource(homologSource)}`;
}

/** Names a homolog source in a sentence. */
export function describeHomologSource(homologSource: HomologSource): string {
  switch (homologSource.method) {
    case 'search':
      return `our own search of ${shortId(homologSource.release_id)}`;
    case 'mmseqs':
      return `mmseqs in ${homologSource.name}`;
    case 'alignments':
      return 'the given alignments';
    case 'families':
      return 'the families of the input';
  }
}
