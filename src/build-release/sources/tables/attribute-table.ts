import type { AttributeValue } from '../../../release/release.js';
import type { SourceField } from '../protein-source.js';

/** Attributes by protein id, from a file other than the sequences. */
export interface AttributeTable {
  /** Name in notes, for example "metadata". */
  readonly name: string;
  /** Fields, which replace the proteins' own fields of the same names unless `fillsGaps` is true. */
  readonly fields: readonly SourceField[];
  /** True if values of the proteins take precedence over those of the table. */
  readonly fillsGaps?: boolean;
  /** Number of rows that should match a protein; undefined if rows of other proteins are normal. */
  readonly rowCount?: number;
  /** Returns the attributes of a protein; undefined if the table has no row for it. */
  find(id: string): Readonly<Record<string, AttributeValue>> | undefined;
  /** Sentences for the user after all look-ups; the default counts rows and proteins without a match. */
  notes?(): readonly string[];
  close(): void;
}
