import { Refusal } from '../../errors.js';
import { createJoinedHashes } from '../../store/objects/joined-hash.js';
import type { StorageTables } from '../../store/storage/storage.js';
import { notFound } from './file-access.js';
import { createFileWriter, type FileWriter } from './file-writer.js';
import { createFiles, type Files } from './files.js';
import type { Principal } from '../context.js';
import { createSignedUrls, type SignedRequest } from './signed-urls.js';
import { createStorageRoom, type StorageBounds } from './storage-room.js';
import { createUploads, type Uploads } from './uploads.js';

/** Stored files: how they come, who reads them, and what goes when. */
export interface Storage {
  readonly uploads: Uploads;
  readonly files: Files;
  readonly writer: FileWriter;
  /**
   * Whom a signed URL speaks for: the organization of what it names.
   * Errors  Refusal `signature_invalid`, `url_expired`, `file_not_found`, `upload_not_found`
   */
  authenticateUrl(request: SignedRequest & { readonly params: Readonly<Record<string, string>> }): Principal;
  /**
   * Removes what an earlier server left unfinished, and from now on what has expired.
   * @param onFault told of failures that are ours
   */
  start(onFault: (error: unknown) => void): Promise<void>;
  /** Ends when no sweep is at work. */
  stop(): Promise<void>;
}

export interface StorageParts {
  readonly tables: StorageTables;
  readonly bounds: StorageBounds;
  readonly sealingKey: Buffer;
  readonly now: () => Date;
  /** Called when a change has told of an event. */
  readonly onChange?: () => void;
}

const SWEEP_INTERVAL_MS = 60_000;
/** Requests by signed URLs have one bucket of the request rate for each organization. */
const SIGNED_KEY_PREFIX = 'signed-url:';

export function createStorage({
  tables,
  bounds,
  sealingKey,
  now,
  onChange = () => undefined,
}: StorageParts): Storage {
  const { objects, contents, files, uploads, usage } = tables;
  const signedUrls = createSignedUrls(sealingKey, now);
  const room = createStorageRoom(objects, bounds);
  const hashes = createJoinedHashes(objects.pathOf);
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<void> = Promise.resolve();

  const sweep = async (): Promise<void> => {
    while (await uploads.sweep(now()));
    while (await files.sweep(now()));
    await objects.collect();
  };
  return {
    uploads: createUploads({ table: uploads, files, objects, hashes, room, signedUrls, now, onChange }),
    files: createFiles({ table: files, contents, objects, signedUrls, now, onChange }),
    writer: createFileWriter({ files, objects, usage, room }),
    authenticateUrl(request) {
      signedUrls.verify(request);
      const { upload_id: uploadId, file_id: fileId } = request.params;
      const owner = fileId === undefined ? uploads.get(uploadId) : files.get(fileId);
      if (owner !== undefined) {
        return { keyId: SIGNED_KEY_PREFIX + owner.organizationId, organizationId: owner.organizationId };
      }
      if (fileId !== undefined) throw notFound('this URL');
      throw new Refusal('upload_not_found', `No upload has the id ${uploadId}.`);
    },
    async start(onFault) {
      await objects.recover();
      await sweep();
      timer = setInterval(() => {
        sweeping = sweep().catch(onFault);
      }, SWEEP_INTERVAL_MS);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await sweeping;
      await hashes.close();
    },
  };
}
