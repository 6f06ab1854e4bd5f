import type {
  FilePartUrls,
  FileUpload,
  FileUploadPart,
  FileUploadRequest,
} from '../../contract/storage/uploads.js';
import type { ByteBody } from '../../contract/grammar/route.js';
import { Refusal } from '../../errors.js';
import {
  PART_DEFAULT_BYTES,
  PART_URL_LIFETIME_MS,
  UPLOAD_LIFETIME_MS,
  UPLOAD_MAX_PARTS,
} from '../../limits.js';
import type { FileTable } from '../../store/storage/files.js';
import type { JoinedHashes } from '../../store/objects/joined-hash.js';
import type { Objects } from '../../store/objects/objects.js';
import type { PartBytes, UploadPart } from '../../store/storage/upload-parts.js';
import type { UploadRow, UploadTable } from '../../store/storage/uploads.js';
import type { World } from '../../world.js';
import { remembered, type RequestContext } from '../context.js';
import { requirePlace } from './file-access.js';
import type { Headers } from './file-ranges.js';
import { absoluteUrl } from './file-urls.js';
import type { Reply } from '../reply.js';
import type { SignedUrls } from './signed-urls.js';
import { normalisePath } from './paths.js';
import type { StorageRoom } from './room.js';
import { UploadCompletions } from './upload-completion.js';
import { PartReceiver } from './upload-receive.js';
import { notOpen, presentPart, presentUpload, requireOpen, uploadAbsent } from './upload-states.js';

interface UploadsDependencies {
  readonly table: UploadTable;
  readonly files: FileTable;
  readonly objects: Objects;
  readonly hashes: JoinedHashes;
  readonly room: StorageRoom;
  readonly signedUrls: SignedUrls;
  readonly now: () => Date;
  readonly world: World;
  /** Called after a file was created. */
  readonly onChange: () => void;
}

/** Uploads: initiated, sent in parts, acknowledged, completed. */
export class Uploads {
  readonly #dependencies: UploadsDependencies;
  readonly #table: UploadTable;
  readonly #completions: UploadCompletions;
  readonly #receiver: PartReceiver;

  constructor(dependencies: UploadsDependencies) {
    this.#dependencies = dependencies;
    this.#table = dependencies.table;
    this.#completions = new UploadCompletions(dependencies);
    this.#receiver = new PartReceiver(dependencies);
  }

  /** Errors  the refusals of storage.uploads.create */
  async create(request: FileUploadRequest, context: RequestContext): Promise<Reply<FileUpload>> {
    const { files, room, now, world } = this.#dependencies;
    const { organizationId, keyId } = context;
    const path = normalisePath(request.file_name, 'file_name');
    requirePlace(files, path, context);
    const sizeBytes = request.size_bytes;
    const partSizeBytes = partSizeOf(request);
    await room.requireDisk(sizeBytes);
    const createdAt = now();
    return this.#table.create(
      {
        id: world.newId('upl'),
        organizationId,
        keyId,
        path,
        contentType: request.content_type ?? 'application/octet-stream',
        sizeBytes,
        partSizeBytes,
        partCount: Math.ceil(sizeBytes / partSizeBytes),
        ...(request.checksum !== undefined && { announcedSha256: request.checksum }),
        createdAt: createdAt.toISOString(),
        expiresAt: new Date(createdAt.getTime() + UPLOAD_LIFETIME_MS).toISOString(),
      },
      (usage) => room.requireQuota(usage, sizeBytes),
      (upload) => remembered({ ...this.#replyOf(upload, context), generatedObjectIds: [upload.id] }, context),
    );
  }

  /** Errors  Refusal `upload_not_found`, `permission_denied` */
  get(uploadId: string, context: RequestContext): Reply<FileUpload> {
    return { ...this.#replyOf(this.#find(uploadId, context), context), inputRefs: [uploadId] };
  }

  /** Errors  those of get; Refusal `upload_not_open`, `upload_expired`, `part_number_invalid` */
  partUrls(uploadId: string, partNumbers: readonly number[], context: RequestContext): Reply<FilePartUrls> {
    const { signedUrls, now } = this.#dependencies;
    const upload = this.#find(uploadId, context);
    requireOpen(upload, now());
    partNumbers.forEach((part) => requirePart(upload, part));
    const latest = Math.min(now().getTime() + PART_URL_LIFETIME_MS, Date.parse(upload.expiresAt));
    const expiresAt = new Date(Math.floor(latest / 1000) * 1000);
    const urls = partNumbers.map((part) => {
      const path = `/v1/storage/uploads/${uploadId}/parts/${part}`;
      const signed = signedUrls.sign({ method: 'PUT', path, version: uploadId, expiresAt });
      return { part_number: part, url: absoluteUrl(signed, context), expires_at: expiresAt.toISOString() };
    });
    return { value: { urls }, inputRefs: [uploadId], rowCount: urls.length };
  }

  /**
   * Stores a part sent to its signed URL, which has been verified. Errors  the refusals of storage.uploads.parts.put
   */
  async putPart(
    uploadId: string,
    partNumber: string,
    body: ByteBody,
    headers: Headers,
  ): Promise<Reply<FileUploadPart>> {
    const upload = this.#table.get(uploadId);
    if (upload === undefined || upload.status === 'aborted') throw uploadAbsent(uploadId);
    requireOpen(upload, this.#dependencies.now());
    const part = requirePart(upload, Number(partNumber));
    const received = await this.#receiver.receive(upload, part, body, headers);
    const value = presentPart(uploadId, part, received, false);
    return { value, headers: { ETag: `"${received.sha256}"` }, inputRefs: [uploadId] };
  }

  /** Errors  those of partUrls; Refusal `part_not_uploaded`, `checksum_mismatch` */
  async acknowledge(
    uploadId: string,
    partNumber: string,
    checksum: string | undefined,
    context: RequestContext,
  ): Promise<Reply<FileUploadPart>> {
    const { objects, hashes, now } = this.#dependencies;
    const table = this.#table;
    const part = requirePart(this.#find(uploadId, context), Number(partNumber));
    const { upload, result } = await table.acknowledge(uploadId, part, checksum, now());
    if (result === undefined) throw notOpen(upload);
    const acknowledged = requireAcknowledged(part, checksum, result);
    if (upload.partCount > 1) {
      hashes.ahead(uploadId, part - 1, (index) => table.acknowledgedPart(uploadId, index + 1));
    }
    await objects.tryCollect();
    return { value: presentPart(uploadId, part, acknowledged, true), inputRefs: [uploadId] };
  }

  /** Errors  the refusals of storage.uploads.complete */
  async complete(uploadId: string, context: RequestContext): Promise<Reply<FileUpload>> {
    this.#find(uploadId, context);
    const upload = await this.#completions.complete(uploadId, context);
    const generatedObjectIds = upload.completed === undefined ? [] : [upload.completed.fileId];
    return { ...this.#replyOf(upload, context), generatedObjectIds, inputRefs: [uploadId] };
  }

  /** Errors  those of get; Refusal `upload_not_open`, `upload_expired` */
  async abort(uploadId: string, context: RequestContext): Promise<Reply<FileUpload>> {
    const { objects, hashes, now } = this.#dependencies;
    this.#find(uploadId, context);
    const { upload, result } = await this.#table.abort(uploadId, now());
    if (result === undefined) throw notOpen(upload);
    hashes.forget(uploadId);
    await objects.tryCollect();
    return { ...this.#replyOf(upload, context), inputRefs: [uploadId] };
  }

  #find(uploadId: string, { organizationId }: RequestContext): UploadRow {
    const upload = this.#table.get(uploadId);
    if (upload === undefined) throw uploadAbsent(uploadId);
    if (upload.organizationId !== organizationId) {
      throw new Refusal('permission_denied', 'The upload belongs to another organization.');
    }
    if (upload.status === 'aborted') throw uploadAbsent(uploadId);
    return upload;
  }

  #replyOf(upload: UploadRow, context: RequestContext): Reply<FileUpload> {
    const acknowledged = this.#table.acknowledgedParts(upload);
    return {
      value: presentUpload(upload, acknowledged, context, this.#dependencies.now()),
      outputRefs: [upload.id, ...(upload.completed === undefined ? [] : [upload.completed.fileId])],
    };
  }
}

/** Errors  Refusal `part_not_uploaded`, `checksum_mismatch` */
function requireAcknowledged(
  part: number,
  checksum: string | undefined,
  { acknowledged, received }: Omit<UploadPart, 'number'>,
): PartBytes {
  const bytes = acknowledged ?? received;
  if (checksum !== undefined && bytes !== undefined && acknowledged?.sha256 !== checksum) {
    throw new Refusal('checksum_mismatch', `Part ${part} has other bytes than those of this checksum.`, {
      param: 'checksum',
      checksum: (received ?? acknowledged)?.sha256,
    });
  }
  if (acknowledged !== undefined) return acknowledged;
  throw new Refusal('part_not_uploaded', `No bytes of part ${part} have come. PUT it at its URL first.`);
}

function partSizeOf({ size_bytes: sizeBytes, part_size_bytes: requestedBytes }: FileUploadRequest): number {
  let partSizeBytes = requestedBytes ?? PART_DEFAULT_BYTES;
  while (requestedBytes === undefined && sizeBytes > partSizeBytes * UPLOAD_MAX_PARTS) partSizeBytes *= 2;
  if (sizeBytes <= partSizeBytes * UPLOAD_MAX_PARTS) return partSizeBytes;
  const fitting = Math.ceil(sizeBytes / UPLOAD_MAX_PARTS);
  throw new Refusal(
    'part_size_too_small',
    `${sizeBytes} bytes in parts of ${partSizeBytes} would be more than ${UPLOAD_MAX_PARTS} parts; ` +
      `parts of at least ${fitting} fit.`,
    { param: 'part_size_bytes', fitting_part_size_bytes: fitting },
  );
}

function requirePart({ partCount }: UploadRow, part: number): number {
  if (part <= partCount) return part;
  throw new Refusal('part_number_invalid', `The upload has ${partCount} parts; there is no part ${part}.`, {
    part_count: partCount,
  });
}
