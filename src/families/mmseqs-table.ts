import { Fault } from '../errors.js';
import { cropOf, type Relative } from './family.js';

/** The columns that `mmseqs convertalis` is asked for, in this order. */
export const MMSEQS_COLUMNS = 'query,target,evalue,fident,qstart,qend,qlen,tstart,tend,tlen,cigar';

/** One line of that table. */
export interface MmseqsHit {
  readonly queryId: string;
  readonly relative: Relative;
}

/**
 * Reads a line; its positions are one-based with inclusive ends.
 * Errors  Fault where it has another form or names a sequence that is not there
 */
export function parseMmseqsLine(
  line: string,
  round: number,
  targetOf: (id: string) => string | undefined,
): MmseqsHit {
  const cells = line.split('\t');
  const [queryId, id] = cells;
  const numbers = cells.slice(2, 10).map(Number);
  const [expected, identity, queryStart, queryEnd, length, targetStart, targetEnd] = numbers;
  const target = targetOf(id);
  if (cells.length !== 11 || numbers.some(Number.isNaN) || target === undefined) {
    throw new Fault(`mmseqs answered with a line that is no alignment: ${line.slice(0, 200)}`);
  }
  const start = queryStart - 1;
  const stretch = { start, end: queryEnd, length, targetStart: targetStart - 1, targetEnd };
  const coverage = (queryEnd - start) / length;
  const crop = cropOf(target, stretch);
  return { queryId, relative: { id, expected, identity, coverage, round, ...crop, start, cigar: cells[10] } };
}
