import { basename } from 'node:path';
import type { Family } from '../../../../homologs/homolog-set.js';
import type { AttributeValue } from '../../../../release/release.js';
import type { FastaPlace } from '../../../../sequence/fasta.js';
import { optionalFields, type SourceProtein } from '../../protein-source.js';

/** Attributes of families in every format. Thresholds are HMMER bit scores: of the sequence, and of one domain. */
export const FAMILY_FIELDS = optionalFields([
  { name: 'name', type: 'string' },
  { name: 'accession', type: 'string' },
  { name: 'description', type: 'string' },
  { name: 'clan', type: 'string' },
  { name: 'type', type: 'string' },
  { name: 'gathering_threshold', type: 'number' },
  { name: 'gathering_threshold_domain', type: 'number' },
  { name: 'trusted_cutoff', type: 'number' },
  { name: 'trusted_cutoff_domain', type: 'number' },
  { name: 'noise_cutoff', type: 'number' },
  { name: 'noise_cutoff_domain', type: 'number' },
  { name: 'member_count', type: 'integer' },
]);

/** Names of the thresholds by the tags of Stockholm and HMMER3 files. */
const THRESHOLDS: Readonly<Record<string, string>> = {
  GA: 'gathering_threshold',
  TC: 'trusted_cutoff',
  NC: 'noise_cutoff',
};
const NUMBER = /^-?\d+(\.\d+)?$/;

export type FamilyAttributes = Record<string, AttributeValue>;

/** Reads a threshold line such as `GA 25.00 22.50;`. Other tags and malformed values change nothing. */
export function readThreshold(tag: string, value: string, attributes: FamilyAttributes): void {
  const name = THRESHOLDS[tag];
  const [sequence = '', domain = ''] = value.replaceAll(';', ' ').trim().split(/\s+/);
  if (name === undefined || !NUMBER.test(sequence)) return;
  attributes[name] = Number(sequence);
  if (NUMBER.test(domain)) attributes[`${name}_domain`] = Number(domain);
}

/** Sets an attribute unless the value is empty. */
export function setText(attributes: FamilyAttributes, name: string, value: string): void {
  if (value !== '') attributes[name] = value;
}

/** Returns the name of a file or archive entry without folders, extension and compression. */
export function stemOf(path: string): string {
  return basename(path)
    .replace(/\.(gz|bgz|zst|xz)$/i, '')
    .replace(/\.(a3m|sto|stk|stockholm|hmm)$/i, '');
}

export interface ReadFamily {
  readonly id: string;
  readonly consensus: string;
  readonly family: Family;
  readonly attributes: FamilyAttributes;
  readonly place: FastaPlace;
}

/** Returns a family as a protein of the input. */
export function familyProtein({ id, consensus, family, attributes, place }: ReadFamily): SourceProtein {
  return { id, text: consensus, family, attributes, record: { header: id, text: '', place } };
}
