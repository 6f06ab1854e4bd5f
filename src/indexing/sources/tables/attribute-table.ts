import type { AttributeValue, FilterField } from '../../../release/release.js';

/** Attributes by protein id, from a file beside the sequences. */
export interface AttributeTable {
  /** What it is called in notes: "metadata". */
  readonly name: string;
  /** They replace the proteins' own fields of the same names, unless `fillsGaps`. */
  readonly fields: readonly FilterField[];
  /** True where the proteins' own values stay, and only missing ones are taken from here. */
  readonly fillsGaps?: boolean;
  /** Rows that a protein is expected to match each; absent where most rows are other proteins'. */
  readonly rowCount?: number;
  /** Attributes of this protein; undefined where nothing is known of it. */
  find(id: string): Readonly<Record<string, AttributeValue>> | undefined;
  close(): void;
}
