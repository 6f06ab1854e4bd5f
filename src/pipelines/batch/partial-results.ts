import { readFile } from 'node:fs/promises';
import type { PartialResult } from '../../search/partitions/scan.js';
import { decodePartialResults } from '../../search/partitions/encoding.js';
import { damagedFile } from '../cluster/task-files.js';

/** Reads the partial results of one unit, in the order of the queries. Errors  Fault where it is damaged */
export async function readPartialResults(path: string): Promise<readonly PartialResult[]> {
  const bytes = await readFile(path);
  try {
    return decodePartialResults(bytes);
  } catch (cause) {
    throw damagedFile(path, cause);
  }
}
