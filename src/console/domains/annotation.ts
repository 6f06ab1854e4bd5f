import type { ProteinAnnotation } from '../../clients/typescript/types/runs.js';
import { eValue } from '../parts/format.js';

export type AnnotatedDomain = ProteinAnnotation['domains'][number];

/** A family and how often it occurs among proteins. */
export interface FamilyCount {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly proteins: number;
}

/** Counts the proteins of each family; most frequent first. */
export function familyCounts(proteins: readonly ProteinAnnotation[]): readonly FamilyCount[] {
  const counts = new Map<string, { readonly family: AnnotatedDomain['family']; proteins: number }>();
  for (const { domains } of proteins) {
    const families = new Map(domains.map(({ family }) => [family.id, family]));
    for (const [id, family] of families) {
      const count = counts.get(id) ?? { family, proteins: 0 };
      count.proteins += 1;
      counts.set(id, count);
    }
  }
  return [...counts.values()]
    .map(({ family, proteins: count }) => ({
      id: family.id,
      name: family.name,
      description: family.description ?? '',
      proteins: count,
    }))
    .sort((a, b) => b.proteins - a.proteins || (a.id < b.id ? -1 : 1));
}

/** Whether a protein has the family, if one is chosen, and the words in its id or the names of its families. */
export function matches(protein: ProteinAnnotation, familyId: string | undefined, words: string): boolean {
  const { query_id: id, domains } = protein;
  if (familyId !== undefined && !domains.some(({ family }) => family.id === familyId)) return false;
  if (words === '') return true;
  const texts = [id, ...domains.flatMap(({ family }) => [family.id, family.name, family.description ?? ''])];
  return texts.some((text) => text.toLowerCase().includes(words));
}

/** One line about a domain. Residues are counted from 1. */
export function domainWords({ family, start, end, log_expected_false_hits: logE }: AnnotatedDomain): string {
  const name = family.name === family.id ? family.id : `${family.name} (${family.accession ?? family.id})`;
  const description = family.description === undefined ? '' : `: ${family.description}`;
  return `${name}${description}. Residues ${start + 1} to ${end}, E ${eValue(logE)}`;
}

/** The same family has the same hue in every drawing. Unit: degrees */
export function hueOf(id: string): number {
  let hash = 2_166_136_261;
  for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), 16_777_619);
  return (hash >>> 0) % 360;
}

const HEAD = ['protein', 'start', 'end', 'family', 'name', 'clan', 'evalue', 'bit_score', 'round'];

/** Writes the domains as tab-separated values. Residues are counted from 1. */
export function domainsTsv(proteins: readonly ProteinAnnotation[]): string {
  const lines = proteins.flatMap(({ query_id: id, domains }) =>
    domains.map(({ family, start, end, log_expected_false_hits: logE, bit_score: bits, round }) =>
      [id, start + 1, end, family.id, family.name, family.clan ?? '', eValue(logE), bits.toFixed(1), round]
        .map((cell) => String(cell).replaceAll(/[\t\r\n]/g, ' '))
        .join('\t'),
    ),
  );
  return `${[HEAD.join('\t'), ...lines].join('\n')}\n`;
}
