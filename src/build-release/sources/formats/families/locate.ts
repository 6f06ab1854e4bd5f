import { Refusal } from '../../../../errors.js';
import { A3M } from './a3m.js';
import { HH_SUITE } from './hh-suite.js';
import { MMSEQS, requireAlignments } from './mmseqs.js';
import type { ProteinFormat } from '../protein-format.js';
import { exists } from '../../../../files.js';

/** A file whose format its name tells. */
export interface NamedFamilies {
  readonly path: string;
  readonly format: ProteinFormat;
}

/**
 * Recognises families by the name of their file: an A3M alignment, one of the two files of an HH-suite database, the
 * name that both have in common, or the data of an MMseqs2 database. Returns undefined for any other name.
 * Errors  Refusal `invalid_alignment` for a file of an HH-suite database that has no A3M alignments, and those of
 *         `requireAlignments`
 */
export async function familiesNamed(path: string): Promise<NamedFamilies | undefined> {
  if (/\.a3m(\.(gz|bgz|zst|xz))?$/i.test(path)) return { path, format: A3M };
  if (/_(hhm|cs219|ca3m|sequence|header)\.ff(data|index)$/.test(path)) {
    throw new Refusal(
      'invalid_alignment',
      `${path} has no A3M alignments. Pass the file of the database that ends with _a3m.ffdata.`,
      { file: path },
    );
  }
  if (/\.ff(data|index)$/.test(path))
    return { path: path.replace(/\.ffindex$/, '.ffdata'), format: HH_SUITE };
  if ((await exists(`${path}.index`)) && (await exists(`${path}.dbtype`))) {
    await requireAlignments(path);
    return { path, format: MMSEQS };
  }
  const data = `${path}_a3m.ffdata`;
  return !(await exists(path)) && (await exists(data)) ? { path: data, format: HH_SUITE } : undefined;
}
