import { randomFillSync } from 'node:crypto';
import { canonicalSha256 } from './canonical.js';

/** Prefixes of ids of events and objects (requests, runs, uploads). 24 random lower-case hex characters follow. */
export type EventPrefix =
  'req' | 'run' | 'upl' | 'fil' | 'ver' | 'evt' | 'whd' | 'whe' | 'key' | 'org' | 'sqlc';
/** Prefixes of ids of values. The SHA-256 of the canonical JSON follows, so that equal values have one id. */
export type ValuePrefix =
  | 'dbr'
  | 'htsp'
  | 'rcpt'
  | 'corpus'
  | 'prof'
  | 'pol'
  | 'fsch'
  | 'calib'
  | 'qual'
  | 'null'
  | 'graph'
  | 'walks';

const ID_BYTES = 12;
/** Random bytes for many ids at once, because a system call costs more than making an id. */
const pool = Buffer.alloc(ID_BYTES * 128);
let used = pool.length;

export function newId(prefix: EventPrefix): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return `${prefix}_${pool.toString('hex', used - ID_BYTES, used)}`;
}

export function valueId(prefix: ValuePrefix, value: unknown): string {
  return `${prefix}_${canonicalSha256(value)}`;
}

/** Id of a catalog entry; it is derived from the slug, so that it survives a rebuilt catalog. */
export function databaseId(slug: string): string {
  return `db_${canonicalSha256({ slug }).slice(0, 24)}`;
}
