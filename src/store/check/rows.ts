import type { Report } from './findings.js';
import type { Snapshot } from '../snapshot.js';

/** Decoded rows of a snapshot. Rows that do not have the shape of their table are left out. */
interface CheckedRows {
  of<Row>(table: string): Iterable<readonly [key: string, row: Row]>;
  get<Row>(table: string, key: string): Row | undefined;
  has(table: string, key: string): boolean;
}

export interface Check {
  readonly rows: CheckedRows;
  readonly report: Report;
}

type MemberType = 'string' | 'number' | 'object' | 'array';
type Shape = 'string' | 'number' | 'bytes' | Readonly<Record<string, MemberType>>;

/** Members that a row of each table has at least. The checks and the owners of the tables rely on them. */
export const TABLE_SHAPES: Readonly<Record<string, Shape>> = {
  'api-keys': { id: 'string', short: 'string', sha256: 'string', organizationId: 'string' },
  'content-segments': 'bytes',
  contents: { sizeBytes: 'number', segmentBytes: 'number', referenceCount: 'number' },
  databases: { slug: 'string', id: 'string', defaultReleaseId: 'string' },
  events: { id: 'string', sequence: 'number', type: 'string', subjectId: 'string', timestamp: 'string' },
  'file-event-expiries': 'string',
  files: { id: 'string', organizationId: 'string', path: 'string', sizeBytes: 'number', sha256: 'string' },
  'files-by-path': 'string',
  idempotency: { fingerprint: 'string', expiresAtMs: 'number', bytes: 'number' },
  'idempotency-expiries': 'string',
  'idempotency-responses': 'bytes',
  'idempotency-usage': { responses: 'number', bytes: 'number' },
  'msa-components': { id: 'string', createdAt: 'string', content: 'object', organizationIds: 'array' },
  'msa-components-by-age': 'number',
  'msa-components-by-organization': 'number',
  msas: { id: 'string', createdAt: 'string', content: 'object', organizationIds: 'array' },
  'msas-by-age': 'number',
  'msas-by-organization': 'number',
  'object-garbage': 'number',
  objects: { sizeBytes: 'number', referenceCount: 'number' },
  receipts: { id: 'string', createdAt: 'string', content: 'object', organizationIds: 'array' },
  'receipts-by-age': 'string',
  'receipts-by-organization': 'number',
  'receipts-sizes': 'number',
  releases: { id: 'string', slug: 'string', publishedAt: 'string', manifest: 'object' },
  'run-expiries': 'string',
  'run-plans': 'bytes',
  'run-rows': 'bytes',
  runs: { id: 'string', organizationId: 'string', status: 'string', createdAt: 'string', rowCount: 'number' },
  'runs-by-organization': 'string',
  'runs-unfinished': 'string',
  secrets: 'string',
  'session-links': { id: 'string', organizationId: 'string', expiresAt: 'string' },
  sessions: { id: 'string', organizationId: 'string', expiresAt: 'string' },
  settings: 'string',
  'sql-credentials': { id: 'string', organizationId: 'string', username: 'string' },
  'sql-credentials-by-username': 'string',
  'storage-usage': { fileBytes: 'number', fileCount: 'number', uploadBytes: 'number', uploadCount: 'number' },
  'target-spaces': { id: 'string', databaseReleaseId: 'string', organizationIds: 'array' },
  'target-spaces-usage': { count: 'number', bytes: 'number' },
  'upload-expiries': 'string',
  'upload-expiry-keys': 'string',
  'upload-parts': {},
  uploads: { id: 'string', organizationId: 'string', status: 'string', sizeBytes: 'number' },
  usage: { id: 'string', organizationId: 'string', endpoint: 'string', units: 'number' },
  'usage-order': 'string',
  'usage-totals': { calls: 'number', units: 'number' },
  'webhook-deliveries': {
    id: 'string',
    organizationId: 'string',
    eventId: 'string',
    body: 'string',
    createdAt: 'string',
  },
  'webhook-deliveries-by-age': 'string',
  'webhook-deliveries-by-organization': 'string',
  'webhook-deliveries-due': 'string',
  'webhook-endpoints': { id: 'string', organizationId: 'string', url: 'string', eventTypes: 'array' },
};

/** Decodes rows with the shapes of their tables. */
export function checkedRows(snapshot: Snapshot): CheckedRows {
  return {
    *of<Row>(table: string) {
      for (const { key, bytes } of snapshot.rows(table)) {
        const row = decode(table, bytes);
        if (row !== undefined) yield [key, row as Row] as const;
      }
    },
    get<Row>(table: string, key: string) {
      const bytes = snapshot.get(table, key);
      return bytes && (decode(table, bytes) as Row | undefined);
    },
    has: (table, key) => snapshot.get(table, key) !== undefined,
  };
}

/** Checks that every row of every table can be decoded. */
export function checkDecoding(snapshot: Snapshot, report: Report): { readonly rowCount: number } {
  let rowCount = 0;
  for (const table of snapshot.tableNames) {
    for (const { key, bytes } of snapshot.rows(table)) {
      rowCount += 1;
      if (decode(table, bytes) === undefined) {
        report('row_unreadable', `${table} ${key}`, 'The row does not hold what this table holds.');
      }
    }
  }
  return { rowCount };
}

/** undefined if the bytes are no row of this table. Tables of a later version are not checked. */
function decode(table: string, bytes: Buffer): unknown {
  const shape = TABLE_SHAPES[table] ?? 'bytes';
  if (shape === 'bytes') return Buffer.from(bytes);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
  if (typeof shape === 'string') return typeof value === shape ? value : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  const members = value as Record<string, unknown>;
  const isWhole = Object.entries(shape).every(([name, type]) => isOfType(members[name], type));
  return isWhole ? value : undefined;
}

function isOfType(value: unknown, type: MemberType): boolean {
  if (type === 'array') return Array.isArray(value);
  return type === 'object' ? typeof value === 'object' && value !== null : typeof value === type;
}

/**
 * Checks a table that indexes another one: every row that has an index key is listed under it, and no other key exists.
 * The value of an index entry is the row's id. If `isValued`, the id is the end of the key instead.
 */
export function checkIndex<Row extends { readonly id: string }>(
  { rows, report }: Check,
  index: string,
  table: string,
  placeOf: (row: Row) => string | undefined,
  isValued = false,
): void {
  for (const [id, row] of rows.of<Row>(table)) {
    const place = placeOf(row);
    if (place !== undefined && !rows.has(index, place)) {
      report('index_missing', `${table} ${id}`, `It is not in ${index} at ${place}.`);
    }
  }
  for (const [key, value] of rows.of<unknown>(index)) {
    const id = isValued ? key.slice(key.indexOf(' ') + 1) : String(value);
    const row = rows.get<Row>(table, id);
    if (row !== undefined && placeOf(row) === key) continue;
    // An undecodable row has a finding of its own.
    if (row === undefined && rows.has(table, id)) continue;
    report('index_dangling', `${index} ${key}`, `It leads to ${id} in ${table}, which has no such place.`);
  }
}
