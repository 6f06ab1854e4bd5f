import { MEBIBYTE_BYTES } from '../../limits.js';
import type { FileRow, FileTable } from '../../store/storage/files.js';
import type { Objects } from '../../store/objects/objects.js';
import type { StorageUsageTable } from '../../store/storage/storage-usage.js';
import type { RequestContext } from '../context.js';
import { privateAcl } from './file-access.js';
import { normalisePath } from './storage-paths.js';
import type { StorageRoom } from './storage-room.js';
import { requirePlace } from './upload-place.js';

/** Files that the appliance itself writes into the storage of an organization, in constant memory. */
export interface FileWriter {
  /** The path as it will stand. Errors  Refusal `invalid_path`, `path_conflict`, `permission_denied` */
  placeOf(path: string, asker: Asker): string;
  /** The caller ends or discards it. */
  open(asker: Asker): OpenFile;
  /**
   * Makes or replaces the files at paths that `placeOf` gave; one with the very same bytes stays as it is, so that URLs
   * that were signed for it stay good. Only inside a transaction.
   * Errors  Refusal `path_conflict`, `permission_denied`, `storage_quota_exceeded`; then nothing has been written
   */
  put(files: readonly PlacedFile[], asker: Asker, at: Date): readonly FileRow[];
}

export type Asker = Pick<RequestContext, 'organizationId' | 'keyId'>;

export interface OpenFile {
  /** Errors  Refusal `storage_quota_exceeded`, `storage_full`; those of the file system */
  write(bytes: Uint8Array): Promise<void>;
  /** The bytes are on disk; they stay there until they are released, and longer where they were put. */
  end(): Promise<WrittenFile>;
  /** Nothing is left of it; after its end, nothing happens. */
  discard(): Promise<void>;
}

export interface WrittenFile {
  readonly sha256: string;
  readonly sizeBytes: number;
  release(): void;
}

export interface PlacedFile {
  readonly written: Pick<WrittenFile, 'sha256' | 'sizeBytes'>;
  readonly path: string;
  readonly contentType: string;
}

export interface FileWriterParts {
  readonly files: FileTable;
  readonly objects: Objects;
  readonly usage: Pick<StorageUsageTable, 'get'>;
  readonly room: StorageRoom;
}

/** What is taken of the disk's room at a time, because nobody knows how long the file will be. */
const ROOM_BYTES = 64 * MEBIBYTE_BYTES;

export function createFileWriter(parts: FileWriterParts): FileWriter {
  return {
    placeOf(text, asker) {
      const path = normalisePath(text, 'path');
      requirePlace(parts.files, path, asker);
      return path;
    },
    open: (asker) => openFile(asker, parts),
    put: (files, asker, at) => putFiles(files, asker, at, parts),
  };
}

function openFile(asker: Asker, parts: FileWriterParts): OpenFile {
  const { objects, usage, room } = parts;
  const pipe = new TransformStream<Uint8Array, Uint8Array>();
  const source = pipe.writable.getWriter();
  const receiving = objects.receive(pipe.readable, Infinity);
  // What cannot be stored is not waited for; whoever writes or ends is told the cause.
  receiving.catch((cause: unknown) => source.abort(cause)).catch(() => undefined);
  source.closed.catch(() => undefined);
  let sizeBytes = 0;
  let roomBytes = 0;
  let giveBack = (): void => undefined;
  let isOpen = true;
  return {
    async write(bytes) {
      sizeBytes += bytes.length;
      room.requireQuota(usage.get(asker.organizationId), sizeBytes);
      if (sizeBytes > roomBytes) {
        giveBack();
        const takenBytes = Math.max(ROOM_BYTES, bytes.length);
        giveBack = await room.take(takenBytes);
        roomBytes = sizeBytes - bytes.length + takenBytes;
      }
      try {
        await source.ready;
        await source.write(bytes);
      } catch (cause) {
        // The file's own failure says more than that of the pipe before it.
        await receiving;
        throw cause;
      }
    },
    async end() {
      await source.close();
      const received = await receiving;
      isOpen = false;
      giveBack();
      const { sha256, sizeBytes } = received;
      return { sha256, sizeBytes, release: await received.keep() };
    },
    async discard() {
      if (!isOpen) return;
      isOpen = false;
      giveBack();
      await source.abort(new Error('The file was discarded.')).catch(() => undefined);
      await receiving.then((received) => received.discard()).catch(() => undefined);
    },
  };
}

function putFiles(
  placed: readonly PlacedFile[],
  asker: Asker,
  at: Date,
  { files, usage, room }: FileWriterParts,
): readonly FileRow[] {
  const { organizationId } = asker;
  const present = placed.map(({ path }) => files.at(organizationId, path));
  // What can be refused is, before the first of them is written.
  for (const { path } of placed) requirePlace(files, path, asker);
  const moreBytes = placed.reduce(
    (sum, { written }, index) => sum + written.sizeBytes - (present[index]?.sizeBytes ?? 0),
    0,
  );
  if (moreBytes > 0) room.requireQuota(usage.get(organizationId), moreBytes);
  return placed.map(({ written: { sha256, sizeBytes }, path, contentType }, index) => {
    const before = present[index];
    if (before?.sha256 === sha256) return before;
    return files.put({
      organizationId,
      path,
      contentType,
      // One object holds the whole; an empty file has none.
      content: { sha256, sizeBytes, segmentBytes: Math.max(1, sizeBytes) },
      segments: sizeBytes === 0 ? [] : [sha256],
      at: at.toISOString(),
      acl: privateAcl(organizationId),
    });
  });
}
