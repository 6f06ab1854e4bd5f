import { join } from 'node:path';
import { encodeColumn, encodeInt32, encodeStrings, type EncodedColumn } from './column-encode.js';
import { ATTRIBUTES_FILE, attributesSchema, BATCH_ROWS, TARGETS_FILE, targetsSchema } from './format.js';
import type { AttributeValue, FileEntry, FilterField, TargetHomologs } from './release.js';
import { createTableFile } from './table-file.js';

/** One row of targets.arrow and of attributes.arrow. */
export interface TargetRow {
  readonly id: string;
  readonly sequence: string;
  readonly selfScore: number;
  /** In all rows, or in none. */
  readonly targetHomologs?: TargetHomologs;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

export interface TargetFiles {
  readonly targets: FileEntry;
  readonly attributes: FileEntry;
}

/**
 * Writes both tables of a release from its targets in order.
 * @param hasProfiles  whether each row says what its family is worth
 * Errors  those of the file system
 * Cost    holds at most BATCH_ROWS targets
 */
export async function writeTargetTables(
  directory: string,
  fields: readonly FilterField[],
  hasProfiles: boolean,
  rows: AsyncIterable<TargetRow>,
): Promise<TargetFiles> {
  const targets = await createTableFile(join(directory, TARGETS_FILE), targetsSchema(hasProfiles));
  const attributes = await createTableFile(join(directory, ATTRIBUTES_FILE), attributesSchema(fields));
  const writeBatch = async (batch: readonly TargetRow[]): Promise<void> => {
    await targets.writeBatch(batch.length, [
      encodeStrings(batch.map(({ id }) => id)),
      encodeStrings(batch.map(({ sequence }) => sequence)),
      encodeInt32(batch.map(({ sequence }) => sequence.length)),
      encodeInt32(batch.map(({ selfScore }) => selfScore)),
      ...(hasProfiles ? homologColumns(batch) : []),
    ]);
    const columns = fields.map(({ name, type }) =>
      encodeColumn(
        type,
        batch.map((row) => row.attributes[name]),
      ),
    );
    await attributes.writeBatch(batch.length, columns);
  };
  try {
    let batch: TargetRow[] = [];
    for await (const row of rows) {
      if (batch.push(row) < BATCH_ROWS) continue;
      await writeBatch(batch);
      batch = [];
    }
    if (batch.length > 0) await writeBatch(batch);
    return { targets: await targets.finish(), attributes: await attributes.finish() };
  } catch (cause) {
    await Promise.all([targets.abandon(), attributes.abandon()]);
    throw cause;
  }
}

function homologColumns(batch: readonly TargetRow[]): readonly EncodedColumn[] {
  const homologSets = batch.map(({ targetHomologs }) => targetHomologs!);
  return [
    encodeInt32(homologSets.map(({ relatives: homologs }) => homologs)),
    encodeColumn(
      'number',
      homologSets.map(({ effectiveSequences }) => effectiveSequences),
    ),
  ];
}
