import type { Family } from '../../homologs/homolog-set.js';
import type { AttributeValue, FilterField } from '../../release/release.js';
import type { Taxonomy } from '../../release/taxonomy.js';
import type { FastaRecord } from '../../sequence/fasta.js';

/** A protein of the input, before normalisation. */
export interface SourceProtein {
  readonly id: string;
  readonly text: string;
  /** Values of the source's fields; a missing value has no member. */
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Place in its file, for messages; undefined for a simulated protein. */
  readonly record?: FastaRecord;
  /** Members of the family whose consensus `text` is; undefined for a single protein. */
  readonly family?: Family;
}

export interface SourceField extends FilterField {
  /** Omitted from the release if no protein has a value. */
  readonly isOptional?: boolean;
}

/** Marks fields as optional. */
export function optionalFields(fields: readonly FilterField[]): readonly SourceField[] {
  return fields.map((field) => ({ ...field, isOptional: true }));
}

/** Treatment of a repeated id: refuse the build, drop the later protein, or rename it. */
export type DuplicateRule = 'fail' | 'first' | 'suffix';

/** Input of a build: files or a simulation. */
export interface ProteinInput {
  /** SHA-256 over all proteins, attributes and taxa. An interrupted build resumes only with the same digest. */
  readonly digest: string;
  /** Whether its files hold families. Default false. */
  readonly hasFamilies?: boolean;
  /** The input may write to the scratch folder, which is removed after the build. */
  open(scratchFolder: string): Promise<ProteinSource>;
}

/** An opened input. */
export interface ProteinSource {
  /** In the order of the filter schema. */
  readonly fields: readonly SourceField[];
  /** Taxonomy of the field that is marked `isTaxonomy`; undefined without such a field. */
  readonly taxonomy?: Taxonomy;
  readonly totalBytes: number;
  /** Default: `fail`, where the user cannot choose a rule. */
  readonly duplicates?: DuplicateRule;
  /** Yields the proteins in the order of the release, which is the same at every call. */
  proteins(onBytes?: (bytes: number) => void): AsyncIterable<SourceProtein>;
  /** Sentences for the user after all proteins were read. */
  readonly notes: () => readonly string[];
  close(): void;
}
