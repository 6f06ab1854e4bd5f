import type { AttributeValue } from '../../../release/release.js';
import type { SourceField } from '../protein-source.js';

/** Attributes by protein id, from a file beside the sequences. */
export interface AttributeTable {
  /** What it is called in notes: "metadata". */
  readonly name: string;
  /** They replace the proteins' own fields of the same names, unless `fillsGaps`. */
  readonly fields: readonly SourceField[];
  /** True where the proteins' own values stay, and only missing ones are taken from here. */
  readonly fillsGaps?: boolean;
  /** Rows, each of which some protein is expected to match; absent where those of other proteins are usual. */
  readonly rowCount?: number;
  /** Attributes of this protein; undefined where nothing is known of it. */
  find(id: string): Readonly<Record<string, AttributeValue>> | undefined;
  /** Sentences for the user when all proteins have been asked for; by default, how many rows and proteins met. */
  notes?(): readonly string[];
  close(): void;
}
