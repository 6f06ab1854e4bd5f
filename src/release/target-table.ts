import { join } from 'node:path';
import type { Data } from 'apache-arrow';
import { Fault } from '../errors.js';
import { attributeColumnOf, float64Column, int32Column, textColumn, type DenseColumn } from './columns.js';
import { ATTRIBUTES_FILE, TARGETS_FILE } from './format.js';
import type { AttributeValue, FilterField, TargetHomologs, TargetTable } from './release.js';
import { readTableFile } from './table-file.js';

/**
 * Reads targets.arrow and attributes.arrow into memory.
 * @param hasProfiles  whether the targets have relatives
 * Cost    what the files take (a residue is a byte), and 8 bytes a target for `find` from its first call on
 * Errors  Fault where a file cannot be read or a column is missing
 */
export async function openTargetTable(
  directory: string,
  fields: readonly FilterField[],
  count: number,
  hasProfiles: boolean,
): Promise<TargetTable> {
  const targets = await readColumns(join(directory, TARGETS_FILE), count);
  const attributes = await readColumns(join(directory, ATTRIBUTES_FILE), count);
  const ids = textColumn(targets('id'), 'utf8');
  const columns = new Map(fields.map(({ name, type }) => [name, attributeColumnOf(type, attributes(name))]));
  let index: IdIndex | undefined;
  return Object.freeze({
    count,
    id: ids,
    sequence: textColumn(targets('sequence'), 'latin1'),
    length: int32Column(targets('length')),
    selfScore: int32Column(targets('self_score')),
    targetHomologs: hasProfiles ? targetHomologsOf(targets) : undefined,
    attributes(targetIndex: number) {
      const present: Record<string, AttributeValue> = {};
      for (const [name, column] of columns) {
        const value = column(targetIndex);
        if (value !== undefined) present[name] = value;
      }
      return present;
    },
    attribute: (targetIndex: number, field: string) => columns.get(field)?.(targetIndex),
    find(id: string) {
      index ??= indexIds(ids, count);
      return index(id);
    },
  });
}

type Columns = (name: string) => readonly Data[];

/** Returns the size of a target's homolog set by row, in releases with homologs. */
export function targetHomologsOf(columns: Columns): (row: number) => TargetHomologs {
  const homologs = int32Column(columns('relatives'));
  const effective = float64Column(columns('effective_sequences'));
  return (row) => ({ relatives: homologs(row), effectiveSequences: effective(row) });
}

type IdIndex = (id: string) => number | undefined;

async function readColumns(path: string, count: number): Promise<Columns> {
  const columns = await readTableFile(path);
  return (name) => {
    const parts = columns.get(name);
    if (parts === undefined) throw new Fault(`${path} lacks the column ${name}.`);
    const rows = parts.reduce((sum, { length }) => sum + length, 0);
    if (rows !== count) throw new Fault(`${path} has ${rows} rows; the manifest says ${count}.`);
    return parts;
  };
}

/**
 * An open-addressing table of row + 1, at most half full: 8 to 16 bytes a target, and no strings are kept.
 */
function indexIds(ids: DenseColumn<string>, count: number): IdIndex {
  let slots = 16;
  while (slots < 2 * count) slots *= 2;
  const rows = new Uint32Array(slots);
  const slotOf = (id: string): number => {
    let slot = hashText(id) & (slots - 1);
    while (rows[slot] !== 0 && ids(rows[slot] - 1) !== id) slot = (slot + 1) & (slots - 1);
    return slot;
  };
  for (let row = 0; row < count; row += 1) rows[slotOf(ids(row))] = row + 1;
  return (id) => {
    const row = rows[slotOf(id)];
    return row === 0 ? undefined : row - 1;
  };
}

/** 32-bit FNV-1a with a final mix, over UTF-16 units. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
