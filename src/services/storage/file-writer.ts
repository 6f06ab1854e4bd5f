import type { RunFile } from '../../contract/runs/run-files.js';
import type { FileRow, FileTable } from '../../store/storage/files.js';
import type { Objects, Received } from '../../store/objects/objects.js';
import type { StorageUsageTable } from '../../store/storage/storage-usage.js';
import { privateAcl, requirePlace, type Asker } from './file-access.js';
import { absoluteUrl, filePath } from './file-urls.js';
import { normalisePath } from './paths.js';
import { RoomInSteps, type StorageRoom } from './room.js';

export interface WrittenFile {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly release: () => void;
}

export interface PlacedFile {
  readonly written: Pick<WrittenFile, 'sha256' | 'sizeBytes'>;
  readonly path: string;
  readonly contentType: string;
}

interface FileWriterDependencies {
  readonly files: FileTable;
  readonly objects: Objects;
  readonly usage: Pick<StorageUsageTable, 'get'>;
  readonly room: StorageRoom;
}

/** Writes the appliance's own files into the storage of an organization, in constant memory. */
export class FileWriter {
  readonly #dependencies: FileWriterDependencies;

  constructor(dependencies: FileWriterDependencies) {
    this.#dependencies = dependencies;
  }

  /** The normalised path. Errors  Refusal `invalid_path`, `path_conflict`, `permission_denied` */
  placeOf(text: string, asker: Asker): string {
    const path = normalisePath(text, 'path');
    requirePlace(this.#dependencies.files, path, asker);
    return path;
  }

  /** The caller must end or discard the result. */
  open({ organizationId }: Asker): OpenFile {
    return new OpenFile(organizationId, this.#dependencies);
  }

  /**
   * Creates or replaces the files at paths from `placeOf`. A file with equal bytes stays, so that its signed URLs
   * remain valid. Only inside a transaction.
   * Errors  Refusal `path_conflict`, `permission_denied`, `storage_quota_exceeded`; then no file has been written
   */
  put(placed: readonly PlacedFile[], asker: Asker, at: Date): readonly FileRow[] {
    const { files, usage, room } = this.#dependencies;
    const { organizationId } = asker;
    const present = placed.map(({ path }) => files.at(organizationId, path));
    // All refusals come before the first write.
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
        // One object holds the whole file. An empty file has none.
        content: { sha256, sizeBytes, segmentBytes: Math.max(1, sizeBytes) },
        segments: sizeBytes === 0 ? [] : [sha256],
        at: at.toISOString(),
        acl: privateAcl(organizationId),
      });
    });
  }
}

/** A file in progress. */
class OpenFile {
  readonly #organizationId: string;
  readonly #usage: Pick<StorageUsageTable, 'get'>;
  readonly #room: StorageRoom;
  readonly #steps: RoomInSteps;
  readonly #source: WritableStreamDefaultWriter<Uint8Array>;
  readonly #receiving: Promise<Received>;
  #sizeBytes = 0;
  #isOpen = true;

  constructor(organizationId: string, { objects, usage, room }: FileWriterDependencies) {
    this.#organizationId = organizationId;
    this.#usage = usage;
    this.#room = room;
    this.#steps = new RoomInSteps(room);
    const pipe = new TransformStream<Uint8Array, Uint8Array>();
    const source = pipe.writable.getWriter();
    this.#source = source;
    this.#receiving = objects.receive(pipe.readable, Infinity);
    // A storage failure rejects pending and later writes with its cause. The readable side is cancelled, because
    // aborting the writable side would wait for a pending write that is never read.
    this.#receiving.catch((cause: unknown) => pipe.readable.cancel(cause)).catch(() => undefined);
    source.closed.catch(() => undefined);
  }

  /** Errors  Refusal `storage_quota_exceeded`, `storage_full`; those of the file system */
  async write(bytes: Uint8Array): Promise<void> {
    this.#sizeBytes += bytes.length;
    this.#room.requireQuota(this.#usage.get(this.#organizationId), this.#sizeBytes);
    await this.#steps.add(bytes.length);
    await this.#passed(this.#source.ready);
    await this.#passed(this.#source.write(bytes));
  }

  /**
   * Resolves when the bytes are on disk. They stay until `release`, and longer if `put` has referred to them.
   * Errors  those of the file system
   */
  async end(): Promise<WrittenFile> {
    await this.#passed(this.#source.close());
    const received = await this.#receiving;
    this.#isOpen = false;
    this.#steps.giveBack();
    const { sha256, sizeBytes } = received;
    return { sha256, sizeBytes, release: await received.persist() };
  }

  /** Removes the file. No-op after `end`. */
  async discard(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#steps.giveBack();
    await this.#source.abort(new Error('The file was discarded.')).catch(() => undefined);
    await this.#receiving.then((received) => received.discard()).catch(() => undefined);
  }

  /**
   * Waits for a step of the pipe. If it fails, throws the file's own failure, which is more specific. Errors  those of
   * the file system
   */
  async #passed(step: Promise<unknown>): Promise<void> {
    try {
      await step;
    } catch (cause) {
      await this.#receiving;
      throw cause;
    }
  }
}

/** A file that a run has written. @param baseUrl public address of the server for the client that created the run */
export function presentRunFile(file: FileRow, baseUrl: string): RunFile {
  const url = absoluteUrl(filePath(file), { baseUrl });
  return {
    object_id: `obj_${file.sha256}`,
    object_url: `${url}?version=${file.version}`,
    file_id: file.id,
    path: file.path,
    url,
    content_type: file.contentType,
    size_bytes: file.sizeBytes,
    checksum: file.sha256,
    checksum_algorithm: 'sha256',
    storage_version: file.version,
  };
}

/** Keeps written bytes until the signal aborts at the end of the run, which has then counted its reference to them. */
export function releaseAfter(signal: AbortSignal, release: () => void): void {
  signal.addEventListener('abort', release, { once: true });
  if (signal.aborted) release();
}
