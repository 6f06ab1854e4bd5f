import type { AttributeValue, FilterField } from '../../release/release.js';
import type { Taxonomy } from '../../release/taxonomy.js';
import type { FastaRecord } from '../../sequence/fasta.js';

/** One protein on its way into a release; its text is not normalised yet. */
export interface SourceProtein {
  readonly id: string;
  readonly text: string;
  /** Values of the source's fields; a missing one has no entry. */
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Where it stands, for refusals; absent where it was made, not read. */
  readonly record?: FastaRecord;
}

export interface SourceField extends FilterField {
  /** Left out of the release where no protein has a value. */
  readonly isOptional?: boolean;
}

/** Fields of which only those go into a release that some protein has. */
export function optionalFields(fields: readonly FilterField[]): readonly SourceField[] {
  return fields.map((field) => ({ ...field, isOptional: true }));
}

/** What becomes of a protein whose id was given before: the build ends, the first stays, or it is renamed. */
export type DuplicateRule = 'fail' | 'first' | 'suffix';

/** What a release is built from: files of a user, or a simulation. */
export interface ProteinInput {
  /** SHA-256 that changes when any protein, attribute or taxon does: an unfinished build is resumed by it. */
  readonly digest: string;
  /** The scratch folder may be filled; it goes when the build is done. */
  open(scratchFolder: string): Promise<ProteinSource>;
}

/** An opened input. */
export interface ProteinSource {
  /** In the order of the filter schema. */
  readonly fields: readonly SourceField[];
  /** Present where fields of this taxonomy are marked `isTaxonomy`. */
  readonly taxonomy?: Taxonomy;
  readonly totalBytes: number;
  /** Default: `fail`. */
  readonly duplicates?: DuplicateRule;
  /** The proteins in the release's order, the same at every call. */
  proteins(onBytes?: (bytes: number) => void): AsyncIterable<SourceProtein>;
  /** What the user should know when all proteins have been read, one sentence each. */
  readonly notes: () => readonly string[];
  close(): void;
}
