import {
  canUploadBecome,
  isUploadEnded,
  isUploadOpen,
  type UploadStatus,
} from '../../contract/storage/upload-states.js';
import { UPLOAD_COMPLETION_GRACE_MS, UPLOAD_MEMORY_MS } from '../../limits.js';
import type { FileAcl, FileRow, FileTable } from './files.js';
import type { ControlStore, Table } from '../control-store.js';
import type { Objects } from '../objects/objects.js';
import type { StorageUsage, StorageUsageTable } from './storage-usage.js';
import { UploadPartTable, type PartBytes, type UploadPart } from './upload-parts.js';

/** Values that are fixed when an upload is initiated. */
interface NewUpload {
  /** `upl_…`. */
  readonly id: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly path: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly partSizeBytes: number;
  readonly partCount: number;
  /** SHA-256 that the complete content must have. */
  readonly announcedSha256?: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export interface UploadRow extends NewUpload {
  readonly status: UploadStatus;
  /** File that the completed upload became. */
  readonly completed?: {
    readonly at: string;
    readonly fileId: string;
    readonly sha256: string;
    readonly version: string;
  };
}

/** Result of a change, applied or not. The row shows the state in which the change met the upload. */
interface UploadChange<Result> {
  readonly upload: UploadRow;
  /** undefined if the upload's state forbids the change. */
  readonly result?: Result;
}

interface Completion {
  readonly upload: UploadRow;
  readonly sha256: string;
  /** Digests of the parts, in order. */
  readonly segments: readonly string[];
  readonly at: Date;
  readonly acl: FileAcl;
  /** May throw a refusal within the transaction, which then changes nothing. */
  readonly check: () => void;
}

interface UploadTableDependencies {
  readonly objects: Objects;
  readonly files: FileTable;
  readonly usage: StorageUsageTable;
}

const SWEEP_MAX_UPLOADS = 16;

/** The tables `uploads` and `upload-expir…`. Every state change is one transaction with all its effects. */
export class UploadTable {
  readonly #store: ControlStore;
  readonly #files: FileTable;
  readonly #usage: StorageUsageTable;
  readonly #parts: UploadPartTable;
  readonly #uploads: Table<UploadRow>;
  /** `<time> <id>`: when the upload expires or is deleted. "!" sorts after the ids of a time. */
  readonly #expiries: Table<string>;
  /** Current key of an upload in `#expiries`. */
  readonly #expiryKeys: Table<string>;

  constructor(store: ControlStore, { objects, files, usage }: UploadTableDependencies) {
    this.#store = store;
    this.#files = files;
    this.#usage = usage;
    this.#parts = new UploadPartTable(store, objects, usage);
    this.#uploads = store.table<UploadRow>('uploads');
    this.#expiries = store.table<string>('upload-expiries');
    this.#expiryKeys = store.table<string>('upload-expiry-keys');
  }

  get(id: string): UploadRow | undefined {
    return this.#uploads.get(id);
  }

  /** Bytes of a part, if it has been acknowledged. */
  acknowledgedPart(id: string, part: number): PartBytes | undefined {
    return this.#parts.get(id, part).acknowledged;
  }

  /** Acknowledged part numbers, ascending. */
  acknowledgedParts({ id, status, partCount }: UploadRow): number[] {
    if (status === 'completed') return Array.from({ length: partCount }, (_, index) => index + 1);
    return this.#parts.list(id).flatMap(({ number, acknowledged }) => (acknowledged ? [number] : []));
  }

  /**
   * Adds an upload, and returns the value that `answer` computes from it in the same transaction.
   * @param check may refuse by the organization's present usage
   */
  create<Answer>(
    upload: NewUpload,
    check: (usage: StorageUsage) => void,
    answer: (created: UploadRow) => Answer,
  ): Promise<Answer> {
    return this.#store.transaction(() => {
      check(this.#usage.get(upload.organizationId));
      this.#usage.add(upload.organizationId, { uploadBytes: upload.sizeBytes, uploadCount: 1 });
      this.#schedule(upload.id, Date.parse(upload.expiresAt));
      return answer(this.#put({ ...upload, status: 'initiated' }));
    });
  }

  /**
   * Stores bytes of a part until they are acknowledged. They must be pinned.
   * @param check may refuse bytes beyond the announced ones of the upload by the organization's present usage
   */
  keepPart(
    id: string,
    part: number,
    bytes: PartBytes,
    now: Date,
    check: (usage: StorageUsage, moreBytes: number) => void = () => undefined,
  ): Promise<UploadChange<UploadPart>> {
    return this.#change(id, now, isUploadOpen, (upload) => {
      if (upload.status === 'initiated') this.#put({ ...upload, status: 'uploading' });
      return this.#parts.persist(upload, part, bytes, check);
    });
  }

  /** Makes the last bytes the part, if they have this digest. */
  acknowledge(
    id: string,
    part: number,
    sha256: string | undefined,
    now: Date,
  ): Promise<UploadChange<UploadPart>> {
    return this.#change(id, now, isUploadOpen, (upload) => this.#parts.acknowledge(upload, part, sha256));
  }

  /** Closes the upload for parts if all have arrived. Continues an interrupted completion. */
  beginCompletion(id: string, now: Date): Promise<UploadChange<readonly UploadPart[]>> {
    const isAllowed = (status: UploadStatus): boolean => !isUploadEnded(status);
    return this.#change(id, now, isAllowed, (upload) => {
      const parts = this.#parts.list(id);
      const isWhole = parts.length === upload.partCount && parts.every(({ acknowledged }) => acknowledged);
      if (isWhole && canUploadBecome(upload.status, 'completing')) {
        this.#put({ ...upload, status: 'completing' });
        const graceEndsAt = now.getTime() + UPLOAD_COMPLETION_GRACE_MS;
        this.#schedule(id, Math.max(Date.parse(upload.expiresAt), graceEndsAt));
      }
      return parts;
    });
  }

  /** Creates the file and completes the upload, unless another state change came first. */
  complete({ upload: { id }, sha256, segments, at, acl, check }: Completion): Promise<UploadChange<FileRow>> {
    return this.#store.transaction(() => {
      const upload = this.#uploads.get(id) as UploadRow;
      if (!canUploadBecome(upload.status, 'completed')) return { upload };
      check();
      const { organizationId, path, contentType, sizeBytes, partSizeBytes } = upload;
      const content = { sha256, sizeBytes, segmentBytes: partSizeBytes };
      const time = at.toISOString();
      const file = this.#files.put({ organizationId, path, contentType, content, segments, at: time, acl });
      const completed = { at: time, fileId: file.id, sha256, version: file.version };
      return { upload: this.#end(upload, 'completed', at, { completed }), result: file };
    });
  }

  /** Accepts parts again after a failed completion. */
  reopen(id: string): Promise<void> {
    return this.#store.freeing(() => {
      const upload = this.#uploads.get(id) as UploadRow;
      if (upload.status !== 'completing') return;
      this.#put({ ...upload, status: 'uploading' });
      this.#schedule(id, Date.parse(upload.expiresAt));
    });
  }

  abort(id: string, now: Date): Promise<UploadChange<true>> {
    const isAllowed = (status: UploadStatus): boolean =>
      status === 'aborted' || canUploadBecome(status, 'aborted');
    return this.#store.freeing(() =>
      this.#changeNow(id, now, isAllowed, (upload) => {
        if (upload.status !== 'aborted') this.#end(upload, 'aborted', now);
        return true as const;
      }),
    );
  }

  /** Expires overdue uploads, and later deletes them. Returns true if there are more. */
  sweep(now: Date): Promise<boolean> {
    return this.#store.freeing(() => {
      const range = { end: `${now.toISOString()}!`, limit: SWEEP_MAX_UPLOADS };
      const due = [...this.#expiries.getRange(range)];
      for (const { key, value: id } of due) {
        const upload = this.#uploads.get(id) as UploadRow;
        if (!isUploadEnded(upload.status)) {
          this.#end(upload, 'expired', now);
          continue;
        }
        this.#expiries.removeSync(key);
        this.#expiryKeys.removeSync(id);
        this.#uploads.removeSync(id);
      }
      return due.length === SWEEP_MAX_UPLOADS;
    });
  }

  #change<Result>(
    id: string,
    now: Date,
    isAllowed: (status: UploadStatus) => boolean,
    work: (upload: UploadRow) => Result,
  ): Promise<UploadChange<Result>> {
    return this.#store.transaction(() => this.#changeNow(id, now, isAllowed, work));
  }

  #changeNow<Result>(
    id: string,
    now: Date,
    isAllowed: (status: UploadStatus) => boolean,
    work: (upload: UploadRow) => Result,
  ): UploadChange<Result> {
    const upload = this.#current(id, now);
    if (!isAllowed(upload.status)) return { upload };
    const result = work(upload);
    return { upload: this.#uploads.get(id) as UploadRow, result };
  }

  /** Row of the upload. An overdue upload is expired first, so that no change happens after its time. */
  #current(id: string, now: Date): UploadRow {
    const upload = this.#uploads.get(id) as UploadRow;
    const isDue = isUploadOpen(upload.status) && Date.parse(upload.expiresAt) <= now.getTime();
    return isDue ? this.#end(upload, 'expired', now) : upload;
  }

  #end(upload: UploadRow, status: UploadStatus, now: Date, more: Partial<UploadRow> = {}): UploadRow {
    this.#parts.drop(upload);
    this.#usage.add(upload.organizationId, { uploadBytes: -upload.sizeBytes, uploadCount: -1 });
    this.#schedule(upload.id, now.getTime() + UPLOAD_MEMORY_MS);
    return this.#put({ ...upload, ...more, status });
  }

  #put(upload: UploadRow): UploadRow {
    this.#uploads.putSync(upload.id, upload);
    return upload;
  }

  #schedule(id: string, at: number): void {
    const expiryKey = this.#expiryKeys.get(id);
    if (expiryKey !== undefined) this.#expiries.removeSync(expiryKey);
    const key = `${new Date(at).toISOString()} ${id}`;
    this.#expiries.putSync(key, id);
    this.#expiryKeys.putSync(id, key);
  }
}
