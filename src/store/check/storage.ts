import { isUploadEnded, isUploadOpen } from '../../contract/storage/upload-states.js';
import { checkIndex, type Check } from './rows.js';
import type { FileRow } from '../storage/files.js';
import type { StorageUsage } from '../storage/storage-usage.js';
import type { UploadRow } from '../storage/uploads.js';

/* Checks of files, contents, uploads and objects: their references exist, and every reference count is right. */

interface ContentRow {
  readonly sizeBytes: number;
  readonly segmentBytes: number;
  readonly referenceCount: number;
}
interface ObjectRow {
  readonly sizeBytes: number;
  readonly referenceCount: number;
}
interface Bytes {
  readonly sha256: string;
  readonly sizeBytes: number;
}
type PartRow = { readonly received?: Bytes; readonly acknowledged?: Bytes; readonly extraBytes?: number };

/** Number of references by the id or digest of the referenced value. */
type Counts = Map<string, number>;

const DIGEST_BYTES = 32;

export function checkStorage(check: Check): void {
  const contents: Counts = new Map();
  const objects: Counts = new Map();
  const usage = new Map<string, StorageUsage>();
  checkFiles(check, contents, usage);
  checkUploads(check, usage);
  checkParts(check, objects, usage);
  checkContents(check, contents, objects);
  for (const [id, { content }] of check.rows.of<{ content: Bytes }>('msas')) {
    refer(check, objects, `msas ${id}`, content);
  }
  checkObjects(check, objects);
  checkUsage(check, usage);
}

function checkFiles(check: Check, contents: Counts, usage: Map<string, StorageUsage>): void {
  const { rows, report } = check;
  for (const [id, { organizationId, sha256, sizeBytes }] of rows.of<FileRow>('files')) {
    count(contents, sha256);
    addUsage(usage, organizationId, { fileBytes: sizeBytes, fileCount: 1 });
    const content = rows.get<ContentRow>('contents', sha256);
    if (content?.sizeBytes === sizeBytes) continue;
    const has = content === undefined ? 'is not there' : `has ${content.sizeBytes} bytes`;
    report('reference_dangling', `files ${id}`, `Its content ${sha256} of ${sizeBytes} bytes ${has}.`);
  }
  checkIndex<FileRow>(
    check,
    'files-by-path',
    'files',
    ({ organizationId, path }) => `${organizationId}/${path}`,
  );
}

function checkUploads(check: Check, usage: Map<string, StorageUsage>): void {
  const { rows, report } = check;
  for (const [id, { organizationId, status, sizeBytes }] of rows.of<UploadRow>('uploads')) {
    if (!isUploadEnded(status)) addUsage(usage, organizationId, { uploadBytes: sizeBytes, uploadCount: 1 });
    const place = rows.get<string>('upload-expiry-keys', id);
    if (place === undefined || !rows.has('upload-expiries', place)) {
      report('index_missing', `uploads ${id}`, `It is not in upload-expiries, so it would never expire.`);
    }
  }
  for (const [key, id] of rows.of<string>('upload-expiries')) {
    if (rows.has('uploads', id) && rows.get<string>('upload-expiry-keys', id) === key) continue;
    report(
      'index_dangling',
      `upload-expiries ${key}`,
      `It leads to ${id} in uploads, which has no such place.`,
    );
  }
  for (const [id] of rows.of<string>('upload-expiry-keys')) {
    if (rows.has('uploads', id)) continue;
    report('index_dangling', `upload-expiry-keys ${id}`, 'There is no such upload.');
  }
}

function checkParts(check: Check, objects: Counts, usage: Map<string, StorageUsage>): void {
  const { rows, report } = check;
  for (const [key, { received, acknowledged, extraBytes = 0 }] of rows.of<PartRow>('upload-parts')) {
    const id = key.slice(0, key.indexOf(' '));
    const upload = rows.get<UploadRow>('uploads', id);
    const status = upload?.status;
    if (upload !== undefined) addUsage(usage, upload.organizationId, { uploadBytes: extraBytes });
    if (status === undefined || !(isUploadOpen(status) || status === 'completing')) {
      const why = status === undefined ? 'is not there' : `is ${status}`;
      report('reference_dangling', `upload-parts ${key}`, `Its upload ${why}, but holds the part's bytes.`);
    }
    for (const bytes of [received, acknowledged]) {
      if (bytes !== undefined) refer(check, objects, `upload-parts ${key}`, bytes);
    }
  }
}

function checkContents(check: Check, contents: Counts, objects: Counts): void {
  const { rows, report } = check;
  for (const [sha256, row] of rows.of<ContentRow>('contents')) {
    expectCount(check, `contents ${sha256}`, row.referenceCount, contents.get(sha256) ?? 0);
    const packed = rows.get<Buffer>('content-segments', sha256);
    const segmentCount = Math.ceil(row.sizeBytes / row.segmentBytes);
    if (packed?.length !== segmentCount * DIGEST_BYTES) {
      report(
        'reference_dangling',
        `contents ${sha256}`,
        `The list of its ${segmentCount} pieces is damaged.`,
      );
      continue;
    }
    for (let index = 0; index < segmentCount; index += 1) {
      const sizeBytes = Math.min(row.segmentBytes, row.sizeBytes - index * row.segmentBytes);
      const segment = packed.toString('hex', index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
      refer(check, objects, `contents ${sha256}`, { sha256: segment, sizeBytes });
    }
  }
  for (const [sha256] of rows.of<Buffer>('content-segments')) {
    if (rows.has('contents', sha256)) continue;
    report('index_dangling', `content-segments ${sha256}`, 'There is no such content.');
  }
}

function checkObjects(check: Check, objects: Counts): void {
  const { rows, report } = check;
  for (const [sha256, { referenceCount }] of rows.of<ObjectRow>('objects')) {
    expectCount(check, `objects ${sha256}`, referenceCount, objects.get(sha256) ?? 0);
  }
  for (const [sha256] of rows.of<number>('object-garbage')) {
    if (!rows.has('objects', sha256)) continue;
    report('count_wrong', `objects ${sha256}`, 'It is used and garbage at once.');
  }
}

function checkUsage({ rows, report }: Check, expected: ReadonlyMap<string, StorageUsage>): void {
  const usages = new Map(rows.of<StorageUsage>('storage-usage'));
  for (const organizationId of new Set([...usages.keys(), ...expected.keys()])) {
    const stored = usages.get(organizationId) ?? NOTHING;
    const sum = expected.get(organizationId) ?? NOTHING;
    for (const name of Object.keys(NOTHING) as (keyof StorageUsage)[]) {
      if (stored[name] === sum[name]) continue;
      const message = `${name} is ${stored[name]}, but the sum over its files and uploads is ${sum[name]}.`;
      report('total_wrong', `storage-usage ${organizationId}`, message);
    }
  }
}

/** Counts one reference to an object, which must exist with this size. */
function refer({ rows, report }: Check, objects: Counts, from: string, { sha256, sizeBytes }: Bytes): void {
  count(objects, sha256);
  const object = rows.get<ObjectRow>('objects', sha256);
  if (object?.sizeBytes === sizeBytes) return;
  const has = object === undefined ? 'has no row' : `has ${object.sizeBytes} bytes by its row`;
  report('reference_dangling', from, `Its object ${sha256} of ${sizeBytes} bytes ${has}.`);
}

function expectCount({ report }: Check, subject: string, stored: number, counted: number): void {
  if (stored !== counted)
    report('count_wrong', subject, `${stored} references are counted, but ${counted} exist.`);
}

const NOTHING: StorageUsage = { fileBytes: 0, fileCount: 0, uploadBytes: 0, uploadCount: 0 };

function addUsage(
  totals: Map<string, StorageUsage>,
  organizationId: string,
  more: Partial<StorageUsage>,
): void {
  const sum = { ...(totals.get(organizationId) ?? NOTHING) };
  for (const [name, value] of Object.entries(more)) sum[name as keyof StorageUsage] += value;
  totals.set(organizationId, sum);
}

function count(counts: Counts, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
