import { Refusal } from '../../errors.js';
import { JoinedHashes } from '../../store/objects/joined-hash.js';
import { isStorageUnavailable } from '../../store/unavailable.js';
import type { StorageTables } from '../../store/storage/storage.js';
import { realWorld, type World } from '../../world.js';
import { notFound } from './file-access.js';
import { FileWriter } from './file-writer.js';
import { Files } from './files.js';
import type { Principal } from '../context.js';
import { SignedUrls, type SignedRequest } from './signed-urls.js';
import { StorageRoom, type StorageBounds } from './room.js';
import { Uploads } from './uploads.js';

interface StorageDependencies {
  readonly tables: StorageTables;
  readonly bounds: StorageBounds;
  readonly sealingKey: Buffer;
  readonly now: () => Date;
  /** Default realWorld. */
  readonly world?: World;
  /** Called after a change has appended an event. */
  readonly onChange?: () => void;
}

const SWEEP_INTERVAL_MS = 60_000;
/** Requests by signed URLs have one bucket of the request rate for each organization. */
const SIGNED_KEY_PREFIX = 'signed-url:';

/** Stored files: uploads, access and removal. */
export class Storage {
  readonly uploads: Uploads;
  readonly files: Files;
  readonly writer: FileWriter;
  readonly #tables: StorageTables;
  readonly #now: () => Date;
  readonly #world: World;
  readonly #signedUrls: SignedUrls;
  readonly #hashes: JoinedHashes;
  #endSweeps: (() => void) | undefined;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(dependencies: StorageDependencies) {
    const { tables, bounds, sealingKey, now, world = realWorld, onChange = () => undefined } = dependencies;
    const { objects, contents, files, uploads, usage } = tables;
    const signedUrls = new SignedUrls(sealingKey, now);
    const room = new StorageRoom(objects, bounds);
    const hashes = new JoinedHashes((sha256) => objects.pathOf(sha256));
    this.#tables = tables;
    this.#now = now;
    this.#world = world;
    this.#signedUrls = signedUrls;
    this.#hashes = hashes;
    this.uploads = new Uploads({
      table: uploads,
      files,
      objects,
      hashes,
      room,
      signedUrls,
      now,
      world,
      onChange,
    });
    this.files = new Files({ table: files, contents, objects, signedUrls, now, onChange });
    this.writer = new FileWriter({ files, objects, usage, room });
  }

  /**
   * Identity of a signed URL: the organization of the named file or upload.
   * Errors  Refusal `signature_invalid`, `url_expired`, `file_not_found`, `upload_not_found`
   */
  authenticateUrl(request: SignedRequest & { readonly params: Readonly<Record<string, string>> }): Principal {
    this.#signedUrls.verify(request);
    const { files, uploads } = this.#tables;
    const { upload_id: uploadId, file_id: fileId } = request.params;
    const owner = fileId === undefined ? uploads.get(uploadId) : files.get(fileId);
    if (owner !== undefined) {
      return { keyId: SIGNED_KEY_PREFIX + owner.organizationId, organizationId: owner.organizationId };
    }
    if (fileId !== undefined) throw notFound('this URL');
    throw new Refusal('upload_not_found', `No upload has the id ${uploadId}.`);
  }

  /**
   * Removes unfinished data of an earlier server, then removes expired data periodically.
   * @param onFault called for internal failures
   * Errors  those of the file system
   */
  async start(onFault: (error: unknown) => void): Promise<void> {
    try {
      await this.#tables.objects.recover();
      await this.#sweep();
    } catch (error) {
      // Remaining leftovers are harmless. A disk that accepts no write must not prevent the start of the server.
      if (!isStorageUnavailable(error)) throw error;
      onFault(error);
    }
    this.#endSweeps = this.#world.every(SWEEP_INTERVAL_MS, () => {
      this.#sweeping = this.#sweep().catch(onFault);
    });
  }

  /** Resolves when no sweep is running. Errors  none */
  async stop(): Promise<void> {
    this.#endSweeps?.();
    await this.#sweeping;
    await this.#hashes.close();
  }

  async #sweep(): Promise<void> {
    const { objects, files, uploads } = this.#tables;
    while (await uploads.sweep(this.#now()));
    while (await files.sweep(this.#now()));
    await objects.collect();
  }
}
