import { Refusal } from '../../errors.js';
import type { FileTable } from '../../store/storage/files.js';
import type { JoinedHashes } from '../../store/objects/joined-hash.js';
import type { Objects } from '../../store/objects/objects.js';
import type { PartBytes, UploadPart } from '../../store/storage/upload-parts.js';
import type { UploadRow, UploadTable } from '../../store/storage/uploads.js';
import type { World } from '../../world.js';
import { privateAcl, requirePlace, type Asker } from './file-access.js';
import { notOpen } from './upload-states.js';

interface CompletionDependencies {
  readonly table: UploadTable;
  readonly files: FileTable;
  readonly objects: Objects;
  readonly hashes: JoinedHashes;
  readonly now: () => Date;
  readonly world: World;
  /** Called after a file was created. */
  readonly onChange: () => void;
}

/** Completes uploads, each once, even for concurrent requests. */
export class UploadCompletions {
  readonly #dependencies: CompletionDependencies;
  readonly #running = new Map<string, Promise<UploadRow>>();

  constructor(dependencies: CompletionDependencies) {
    this.#dependencies = dependencies;
  }

  /** Errors  the refusals of storage.uploads.complete */
  async complete(uploadId: string, { organizationId, keyId }: Asker): Promise<UploadRow> {
    const running = this.#running.get(uploadId);
    if (running !== undefined) return running;
    // Independent of the request: a client that disconnects finds the completed upload at its next request.
    const completing = completeUpload(uploadId, { organizationId, keyId }, this.#dependencies);
    this.#running.set(uploadId, completing);
    try {
      return await completing;
    } finally {
      this.#running.delete(uploadId);
    }
  }
}

async function completeUpload(
  uploadId: string,
  asker: Asker,
  { table, files, objects, hashes, now, world, onChange }: CompletionDependencies,
): Promise<UploadRow> {
  const begun = await table.beginCompletion(uploadId, now());
  if (begun.upload.status === 'completed') return begun.upload;
  if (begun.result === undefined) throw notOpen(begun.upload);
  if (begun.upload.status !== 'completing') throw missingParts(begun.upload, begun.result);
  const parts = begun.result.map(({ acknowledged }) => acknowledged as PartBytes);
  const segments = parts.map(({ sha256 }) => sha256);
  const release = objects.pin(segments);
  try {
    // A single part has the digest of the whole.
    const sha256 = parts.length === 1 ? segments[0] : await world.aside(hashes.finish(uploadId, parts));
    requireAnnounced(begun.upload, sha256);
    const { upload, result } = await table.complete({
      upload: begun.upload,
      sha256,
      segments,
      at: now(),
      acl: privateAcl(asker.organizationId),
      check: () => requirePlace(files, begun.upload.path, asker),
    });
    if (result === undefined && upload.status !== 'completed') throw notOpen(upload);
    onChange();
    return upload;
  } catch (error) {
    await table.reopen(uploadId);
    throw error;
  } finally {
    release();
    await objects.tryCollect();
  }
}

function requireAnnounced({ announcedSha256 }: UploadRow, sha256: string): void {
  if (announcedSha256 === undefined || announcedSha256 === sha256) return;
  throw new Refusal(
    'checksum_mismatch',
    `The whole has the SHA-256 ${sha256}, not ${announcedSha256}. Send the parts that differ again.`,
    { checksum: sha256 },
  );
}

/** Bound on part numbers that a refusal lists. */
const LISTED_MAX_COUNT = 100;

function missingParts({ partCount }: UploadRow, parts: readonly UploadPart[]): Refusal {
  const there = new Set(parts.filter(({ acknowledged }) => acknowledged).map(({ number }) => number));
  const missing = Array.from({ length: partCount }, (_, index) => index + 1).filter(
    (part) => !there.has(part),
  );
  const listed = missing.slice(0, LISTED_MAX_COUNT);
  return new Refusal(
    'parts_missing',
    `${missing.length} of ${partCount} parts are not acknowledged: ${listed.join(', ')}` +
      `${missing.length > listed.length ? ' …' : '.'}`,
    { missing_count: missing.length, missing_parts: listed },
  );
}
