import type { ControlStore, Table } from '../control-store.js';
import type { Objects } from '../objects/objects.js';

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

type PartRow = Omit<UploadPart, 'number'>;

/** The table `upload-parts`. All changes only inside a transaction. */
export class UploadPartTable {
  readonly #objects: Objects;
  readonly #rows: Table<PartRow>;

  constructor(store: ControlStore, objects: Objects) {
    this.#objects = objects;
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

  /** Stores bytes that arrived, and drops earlier bytes that were not acknowledged. */
  persist(uploadId: string, number: number, bytes: PartBytes): UploadPart {
    const { received, acknowledged } = this.get(uploadId, number);
    this.#objects.addReference(bytes.sha256, bytes.sizeBytes);
    this.#release(received);
    return this.#put(uploadId, number, { received: bytes, ...(acknowledged && { acknowledged }) });
  }

  /** Makes the last stored bytes the part. If a digest is passed, only if they have this digest. */
  acknowledge(uploadId: string, number: number, sha256: string | undefined): UploadPart {
    const row = this.get(uploadId, number);
    const isMeant = row.received !== undefined && (sha256 ?? row.received.sha256) === row.received.sha256;
    if (!isMeant) return { ...row, number };
    this.#release(row.acknowledged);
    return this.#put(uploadId, number, { acknowledged: row.received });
  }

  drop(uploadId: string): void {
    for (const { key, value } of [...this.#rows.getRange(rangeOf(uploadId))]) {
      this.#release(value.received);
      this.#release(value.acknowledged);
      this.#rows.removeSync(key);
    }
  }

  #put(uploadId: string, number: number, row: PartRow): UploadPart {
    this.#rows.putSync(keyOf(uploadId, number), row);
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
