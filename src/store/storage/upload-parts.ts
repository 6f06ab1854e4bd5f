import type { ControlStore } from '../control-store.js';
import type { Objects } from '../objects/objects.js';

/** Bytes of a part, as stored. */
export interface PartBytes {
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** A part has the bytes that were acknowledged, whatever came after them and was not. */
export interface UploadPart {
  readonly number: number;
  readonly received?: PartBytes;
  readonly acknowledged?: PartBytes;
}

/** The table `upload-parts`. All changes only inside a transaction. */
export interface UploadPartTable {
  /** Parts of which something is stored, by number. */
  list(uploadId: string): readonly UploadPart[];
  get(uploadId: string, number: number): Omit<UploadPart, 'number'>;
  /** Keeps bytes that came; those that came before and were not acknowledged go. */
  keep(uploadId: string, number: number, bytes: PartBytes): UploadPart;
  /** Makes what came the part; with a digest, only where that is what came. */
  acknowledge(uploadId: string, number: number, sha256: string | undefined): UploadPart;
  drop(uploadId: string): void;
}

type PartRow = Omit<UploadPart, 'number'>;

export function uploadPartTable(store: ControlStore, objects: Objects): UploadPartTable {
  const rows = store.table<PartRow>('upload-parts');
  const of = (uploadId: string) => ({ start: `${uploadId} `, end: `${uploadId}!` });
  const get = (uploadId: string, number: number): PartRow => rows.get(keyOf(uploadId, number)) ?? {};
  const put = (uploadId: string, number: number, row: PartRow): UploadPart => {
    rows.putSync(keyOf(uploadId, number), row);
    return { ...row, number };
  };
  const release = (bytes: PartBytes | undefined): void => {
    if (bytes !== undefined) objects.dropReference(bytes.sha256);
  };

  return {
    get,
    list: (uploadId) => [
      ...rows
        .getRange(of(uploadId))
        .map(({ key, value }) => ({ ...value, number: Number(key.slice(uploadId.length + 1)) })),
    ],
    keep(uploadId, number, bytes) {
      const { received, acknowledged } = get(uploadId, number);
      objects.addReference(bytes.sha256, bytes.sizeBytes);
      release(received);
      return put(uploadId, number, { received: bytes, ...(acknowledged && { acknowledged }) });
    },
    acknowledge(uploadId, number, sha256) {
      const row = get(uploadId, number);
      const isMeant = row.received !== undefined && (sha256 ?? row.received.sha256) === row.received.sha256;
      if (!isMeant) return { ...row, number };
      release(row.acknowledged);
      return put(uploadId, number, { acknowledged: row.received });
    },
    drop(uploadId) {
      for (const { key, value } of [...rows.getRange(of(uploadId))]) {
        release(value.received);
        release(value.acknowledged);
        rows.removeSync(key);
      }
    },
  };
}

/** Five digits hold every part number. */
function keyOf(uploadId: string, number: number): string {
  return `${uploadId} ${String(number).padStart(5, '0')}`;
}
