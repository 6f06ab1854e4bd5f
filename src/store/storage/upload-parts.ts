import type { ControlStore, Table } from '../control-store.js';
import type { Objects } from '../objects/objects.js';
import type { StorageUsage, StorageUsageTable } from './storage-usage.js';

/** Bytes of a part, as stored. */
export interface PartBytes {
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** A part has the acknowledged bytes. Later bytes without an acknowledgement do not change it. */
export interface UploadPart {
  readonly number: number;
  readonly received?: PartBytes;
  readonly acknowledged?: PartBytes;
}

type PartRow = Omit<UploadPart, 'number'> & {
  /** Bytes received after acknowledged ones, which the usage counts beside the announced bytes of the upload. */
  readonly extraBytes?: number;
};

/** The upload of a part. */
interface PartUpload {
  readonly id: string;
  readonly organizationId: string;
}

/** The table `upload-parts`. All changes only inside a transaction. */
export class UploadPartTable {
  readonly #objects: Objects;
  readonly #usage: StorageUsageTable;
  readonly #rows: Table<PartRow>;

  constructor(store: ControlStore, objects: Objects, usage: StorageUsageTable) {
    this.#objects = objects;
    this.#usage = usage;
    this.#rows = store.table<PartRow>('upload-parts');
  }

  get(uploadId: string, number: number): PartRow {
    return this.#rows.get(keyOf(uploadId, number)) ?? {};
  }

  /** Parts with stored bytes, by number. */
  list(uploadId: string): readonly UploadPart[] {
    return [...this.#rows.getRange(rangeOf(uploadId))].map(({ key, value }) => ({
      ...value,
      number: Number(key.slice(uploadId.length + 1)),
    }));
  }

  /**
   * Stores bytes that arrived, and drops earlier bytes that were not acknowledged. Bytes equal to the acknowledged ones
   * are not stored again.
   * @param check may refuse further bytes by the organization's present usage
   */
  persist(
    upload: PartUpload,
    number: number,
    bytes: PartBytes,
    check: (usage: StorageUsage, moreBytes: number) => void,
  ): UploadPart {
    const { received, acknowledged, extraBytes = 0 } = this.get(upload.id, number);
    if (acknowledged?.sha256 === bytes.sha256) {
      this.#release(received);
      return this.#put(upload, number, { acknowledged });
    }
    const moreBytes = acknowledged === undefined ? 0 : bytes.sizeBytes - extraBytes;
    if (moreBytes > 0) check(this.#usage.get(upload.organizationId), moreBytes);
    this.#objects.addReference(bytes.sha256, bytes.sizeBytes);
    this.#release(received);
    return this.#put(upload, number, {
      received: bytes,
      ...(acknowledged && { acknowledged, extraBytes: bytes.sizeBytes }),
    });
  }

  /** Makes the last stored bytes the part. If a digest is passed, only if they have this digest. */
  acknowledge(upload: PartUpload, number: number, sha256: string | undefined): UploadPart {
    const row = this.get(upload.id, number);
    const isMeant = row.received !== undefined && (sha256 ?? row.received.sha256) === row.received.sha256;
    if (!isMeant) return { ...row, number };
    this.#release(row.acknowledged);
    return this.#put(upload, number, { acknowledged: row.received });
  }

  drop({ id, organizationId }: PartUpload): void {
    for (const { key, value } of [...this.#rows.getRange(rangeOf(id))]) {
      if (value.extraBytes !== undefined) this.#usage.add(organizationId, { uploadBytes: -value.extraBytes });
      this.#release(value.received);
      this.#release(value.acknowledged);
      this.#rows.removeSync(key);
    }
  }

  #put({ id, organizationId }: PartUpload, number: number, row: PartRow): UploadPart {
    const moreBytes = (row.extraBytes ?? 0) - (this.get(id, number).extraBytes ?? 0);
    if (moreBytes !== 0) this.#usage.add(organizationId, { uploadBytes: moreBytes });
    this.#rows.putSync(keyOf(id, number), row);
    return { ...row, number };
  }

  #release(bytes: PartBytes | undefined): void {
    if (bytes !== undefined) this.#objects.dropReference(bytes.sha256);
  }
}

function rangeOf(uploadId: string): { readonly start: string; readonly end: string } {
  return { start: `${uploadId} `, end: `${uploadId}!` };
}

/** Five digits hold every part number. */
function keyOf(uploadId: string, number: number): string {
  return `${uploadId} ${String(number).padStart(5, '0')}`;
}
