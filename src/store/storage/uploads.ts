import {
  canUploadBecome,
  isUploadEnded,
  isUploadOpen,
  type UploadStatus,
} from '../../contract/storage/upload-states.js';
import { UPLOAD_COMPLETION_GRACE_MS, UPLOAD_MEMORY_MS } from '../../limits.js';
import type { FileAcl, FileRow, FileTable } from './files.js';
import type { ControlStore } from '../control-store.js';
import type { Objects } from '../objects/objects.js';
import type { StorageUsage, StorageUsageTable } from './storage-usage.js';
import { uploadPartTable, type PartBytes, type UploadPart } from './upload-parts.js';

/** What is fixed when an upload is initiated. */
export interface NewUpload {
  /** `upl_…`. */
  readonly id: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly path: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly partSizeBytes: number;
  readonly partCount: number;
  /** SHA-256 that the whole must have. */
  readonly announcedSha256?: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export interface UploadRow extends NewUpload {
  readonly status: UploadStatus;
  /** What the completed upload became. */
  readonly completed?: {
    readonly at: string;
    readonly fileId: string;
    readonly sha256: string;
    readonly version: string;
  };
}

/** What a change meant to do, done or not: the row tells in which state it found the upload. */
export interface UploadChange<Result> {
  readonly upload: UploadRow;
  /** undefined where the upload's state forbids the change. */
  readonly result?: Result;
}

export interface Completion {
  readonly upload: UploadRow;
  readonly sha256: string;
  /** Digests of the parts in order. */
  readonly segments: readonly string[];
  readonly at: Date;
  readonly acl: FileAcl;
  /** May refuse within the transaction, which then changes nothing. */
  readonly check: () => void;
}

/** The tables `uploads` and `upload-expiries`. Every change of state is one transaction with all that it means. */
export interface UploadTable {
  get(id: string): UploadRow | undefined;
  /** The bytes of a part, where it has been acknowledged. */
  acknowledgedPart(id: string, part: number): PartBytes | undefined;
  /** Acknowledged part numbers, ascending. */
  acknowledgedParts(upload: UploadRow): number[];
  /** @param check may refuse by what the organization uses already */
  create(upload: NewUpload, check: (usage: StorageUsage) => void): Promise<UploadRow>;
  /** Keeps bytes as what the part will be once it is acknowledged. They must be pinned. */
  keepPart(id: string, part: number, bytes: PartBytes, now: Date): Promise<UploadChange<UploadPart>>;
  /** Makes the bytes that came last the part, if they are those with this digest. */
  acknowledge(
    id: string,
    part: number,
    sha256: string | undefined,
    now: Date,
  ): Promise<UploadChange<UploadPart>>;
  /** Ends the taking of parts, unless some miss; an upload whose completion was interrupted goes on with it. */
  beginCompletion(id: string, now: Date): Promise<UploadChange<readonly UploadPart[]>>;
  /** Makes the file and ends the upload, unless another change of state came first. */
  complete(completion: Completion): Promise<UploadChange<FileRow>>;
  /** Takes parts again after a completion that failed. */
  reopen(id: string): Promise<void>;
  abort(id: string, now: Date): Promise<UploadChange<true>>;
  /** Expires uploads whose time is over, and forgets them a while later; true while there are more. */
  sweep(now: Date): Promise<boolean>;
}

export interface UploadTableParts {
  readonly objects: Objects;
  readonly files: FileTable;
  readonly usage: StorageUsageTable;
}

const SWEEP_MAX_UPLOADS = 16;

export function uploadTable(store: ControlStore, { objects, files, usage }: UploadTableParts): UploadTable {
  const uploads = store.table<UploadRow>('uploads');
  /** `<time> <id>`: when the upload expires or is forgotten; "!" ends the ids of a time. */
  const expiries = store.table<string>('upload-expiries');
  /** Where an upload stands in them now. */
  const expiryKeys = store.table<string>('upload-expiry-keys');
  const parts = uploadPartTable(store, objects);

  const schedule = (id: string, at: number): void => {
    const known = expiryKeys.get(id);
    if (known !== undefined) expiries.removeSync(known);
    const key = `${new Date(at).toISOString()} ${id}`;
    expiries.putSync(key, id);
    expiryKeys.putSync(id, key);
  };
  const put = (upload: UploadRow): UploadRow => {
    uploads.putSync(upload.id, upload);
    return upload;
  };
  const end = (
    upload: UploadRow,
    status: UploadStatus,
    now: Date,
    more: Partial<UploadRow> = {},
  ): UploadRow => {
    parts.drop(upload.id);
    usage.add(upload.organizationId, { uploadBytes: -upload.sizeBytes, uploadCount: -1 });
    schedule(upload.id, now.getTime() + UPLOAD_MEMORY_MS);
    return put({ ...upload, ...more, status });
  };
  /** The upload, expired on the spot where its time is over: no change overtakes the clock. */
  const current = (id: string, now: Date): UploadRow => {
    const upload = uploads.get(id) as UploadRow;
    const isDue = isUploadOpen(upload.status) && Date.parse(upload.expiresAt) <= now.getTime();
    return isDue ? end(upload, 'expired', now) : upload;
  };
  const change = <Result>(
    id: string,
    now: Date,
    isAllowed: (status: UploadStatus) => boolean,
    work: (upload: UploadRow) => Result,
  ): Promise<UploadChange<Result>> =>
    store.transaction(() => {
      const upload = current(id, now);
      if (!isAllowed(upload.status)) return { upload };
      const result = work(upload);
      return { upload: uploads.get(id) as UploadRow, result };
    });

  return {
    get: (id) => uploads.get(id),
    acknowledgedPart: (id, part) => parts.get(id, part).acknowledged,
    acknowledgedParts({ id, status, partCount }) {
      if (status === 'completed') return Array.from({ length: partCount }, (_, index) => index + 1);
      return parts.list(id).flatMap(({ number, acknowledged }) => (acknowledged ? [number] : []));
    },
    create: (upload, check) =>
      store.transaction(() => {
        check(usage.get(upload.organizationId));
        usage.add(upload.organizationId, { uploadBytes: upload.sizeBytes, uploadCount: 1 });
        schedule(upload.id, Date.parse(upload.expiresAt));
        return put({ ...upload, status: 'initiated' });
      }),
    keepPart: (id, part, bytes, now) =>
      change(id, now, isUploadOpen, (upload) => {
        if (upload.status === 'initiated') put({ ...upload, status: 'uploading' });
        return parts.keep(id, part, bytes);
      }),
    acknowledge: (id, part, sha256, now) =>
      change(id, now, isUploadOpen, () => parts.acknowledge(id, part, sha256)),
    beginCompletion: (id, now) =>
      change(
        id,
        now,
        (status) => !isUploadEnded(status),
        (upload) => {
          const found = parts.list(id);
          const isWhole =
            found.length === upload.partCount && found.every(({ acknowledged }) => acknowledged);
          if (isWhole && canUploadBecome(upload.status, 'completing')) {
            put({ ...upload, status: 'completing' });
            schedule(id, Math.max(Date.parse(upload.expiresAt), now.getTime() + UPLOAD_COMPLETION_GRACE_MS));
          }
          return found;
        },
      ),
    complete: ({ upload: { id }, sha256, segments, at, acl, check }) =>
      store.transaction(() => {
        const upload = uploads.get(id) as UploadRow;
        if (!canUploadBecome(upload.status, 'completed')) return { upload };
        check();
        const { organizationId, path, contentType, sizeBytes, partSizeBytes } = upload;
        const content = { sha256, sizeBytes, segmentBytes: partSizeBytes };
        const file = files.put({
          organizationId,
          path,
          contentType,
          content,
          segments,
          at: at.toISOString(),
          acl,
        });
        const completed = { at: at.toISOString(), fileId: file.id, sha256, version: file.version };
        return { upload: end(upload, 'completed', at, { completed }), result: file };
      }),
    reopen: (id) =>
      store.transaction(() => {
        const upload = uploads.get(id) as UploadRow;
        if (upload.status !== 'completing') return;
        put({ ...upload, status: 'uploading' });
        schedule(id, Date.parse(upload.expiresAt));
      }),
    abort: (id, now) =>
      change(
        id,
        now,
        (status) => status === 'aborted' || canUploadBecome(status, 'aborted'),
        (upload) => {
          if (upload.status !== 'aborted') end(upload, 'aborted', now);
          return true as const;
        },
      ),
    sweep: (now) =>
      store.transaction(() => {
        const due = [...expiries.getRange({ end: `${now.toISOString()}!`, limit: SWEEP_MAX_UPLOADS })];
        for (const { key, value: id } of due) {
          const upload = uploads.get(id) as UploadRow;
          if (!isUploadEnded(upload.status)) {
            end(upload, 'expired', now);
            continue;
          }
          expiries.removeSync(key);
          expiryKeys.removeSync(id);
          uploads.removeSync(id);
        }
        return due.length === SWEEP_MAX_UPLOADS;
      }),
  };
}
