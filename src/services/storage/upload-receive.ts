import type { ByteBody } from '../../contract/grammar/route.js';
import { Refusal } from '../../errors.js';
import type { Objects, Received } from '../../store/objects/objects.js';
import type { PartBytes } from '../../store/storage/upload-parts.js';
import type { UploadRow, UploadTable } from '../../store/storage/uploads.js';
import type { Headers } from './file-ranges.js';
import { RoomInSteps, type StorageRoom } from './room.js';
import { notOpen } from './upload-states.js';

interface ReceiveDependencies {
  readonly table: UploadTable;
  readonly objects: Objects;
  readonly room: StorageRoom;
  readonly now: () => Date;
}

/** A part whose bytes are announced by its request. */
interface ExpectedPart {
  readonly upload: UploadRow;
  readonly part: number;
  readonly expectedBytes: number;
  /** Hex SHA-256 that the bytes must have. */
  readonly promised: string | undefined;
}

/** The latest write of a part. */
interface PartWrite {
  readonly body: ByteBody;
  /** Resolves at the end of the write, also of one that fails. */
  readonly ended: Promise<void>;
}

/** Receives the bytes of parts, with one write of each part at a time. */
export class PartReceiver {
  readonly #dependencies: ReceiveDependencies;
  /** By upload and part. */
  readonly #writes = new Map<string, PartWrite>();

  constructor(dependencies: ReceiveDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Writes the bytes of a part to disk durably. Ends an earlier write of the part that still reads its bytes,
   * because a client that repeats a part may have a broken connection that the server still regards as open.
   * Errors  Refusal `part_size_mismatch`, `checksum_invalid`, `checksum_mismatch`, `storage_full`,
   *         `storage_quota_exceeded`, `upload_not_open`, `upload_expired`; `part_superseded` for an earlier write;
   *         then no bytes are stored
   */
  async receive(upload: UploadRow, part: number, body: ByteBody, headers: Headers): Promise<PartBytes> {
    const expectedBytes = sizeOfPart(upload, part);
    const promised = promisedDigest(headers);
    if (body.announcedBytes !== undefined && body.announcedBytes !== expectedBytes) {
      throw wrongSize(part, expectedBytes, body.announcedBytes);
    }
    const key = `${upload.id} ${part}`;
    const earlier = this.#writes.get(key);
    earlier?.body.end(
      new Refusal('part_superseded', `A later request sends part ${part}, and this one was ended.`),
    );
    const written = this.#writeAfter(earlier, { upload, part, expectedBytes, promised }, body);
    const write = { body, ended: written.then(ignore, ignore) };
    this.#writes.set(key, write);
    try {
      return await written;
    } finally {
      if (this.#writes.get(key) === write) this.#writes.delete(key);
    }
  }

  async #writeAfter(
    earlier: PartWrite | undefined,
    { upload, part, expectedBytes, promised }: ExpectedPart,
    { bytes }: ByteBody,
  ): Promise<PartBytes> {
    await earlier?.ended;
    const { table, objects, room, now } = this.#dependencies;
    // A part that does not fit now is refused before its first byte is read.
    await room.requireDisk(expectedBytes);
    const steps = new RoomInSteps(room, expectedBytes);
    try {
      const received = await objects.receive(inRoom(bytes, steps), expectedBytes);
      await requirePromised(part, received, expectedBytes, promised);
      const release = await received.persist();
      try {
        const { sha256, sizeBytes } = received;
        const change = await table.keepPart(
          upload.id,
          part,
          { sha256, sizeBytes },
          now(),
          (usage, moreBytes) => room.requireQuotaBytes(usage, moreBytes),
        );
        if (change.result === undefined) throw notOpen(change.upload);
        return { sha256, sizeBytes };
      } finally {
        release();
      }
    } finally {
      steps.giveBack();
      await objects.tryCollect();
    }
  }
}

const ignore = (): void => undefined;

/** The same bytes, each chunk after its disk space is reserved. Errors  those of the bytes; Refusal `storage_full` */
async function* inRoom(bytes: AsyncIterable<Uint8Array>, steps: RoomInSteps): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    await steps.add(chunk.length);
    yield chunk;
  }
}

async function requirePromised(
  part: number,
  received: Received,
  expectedBytes: number,
  promised: string | undefined,
): Promise<void> {
  const { sha256, sizeBytes } = received;
  if (sizeBytes === expectedBytes && (promised === undefined || promised === sha256)) return;
  await received.discard();
  if (sizeBytes !== expectedBytes) throw wrongSize(part, expectedBytes, sizeBytes);
  throw new Refusal(
    'checksum_mismatch',
    `The bytes of part ${part} have the SHA-256 ${sha256}, not ${promised}.`,
    {
      checksum: sha256,
    },
  );
}

function sizeOfPart({ sizeBytes, partSizeBytes, partCount }: UploadRow, part: number): number {
  return part < partCount ? partSizeBytes : sizeBytes - (partCount - 1) * partSizeBytes;
}

function wrongSize(part: number, expectedBytes: number, cameBytes: number): Refusal {
  const came = cameBytes > expectedBytes ? 'more' : String(cameBytes);
  return new Refusal('part_size_mismatch', `Part ${part} has ${expectedBytes} bytes; ${came} came.`, {
    expected_bytes: expectedBytes,
  });
}

/** Hex SHA-256 from the headers. Source  RFC 9530 for Content-Digest */
function promisedDigest(headers: Headers): string | undefined {
  const digests = [headers['x-amz-checksum-sha256'], sha256OfContentDigest(headers['Content-Digest'])]
    .filter((digest) => digest !== undefined)
    .map((digest) => {
      const bytes = Buffer.from(digest, 'base64');
      if (bytes.length === 32 && bytes.toString('base64') === digest) return bytes.toString('hex');
      throw new Refusal('checksum_invalid', 'A SHA-256 in base64 has 32 bytes, 44 characters with padding.');
    });
  if (new Set(digests).size <= 1) return digests[0];
  throw new Refusal('checksum_invalid', 'x-amz-checksum-sha256 and Content-Digest contradict each other.');
}

function sha256OfContentDigest(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const digest = /(?:^|,)[ \t]*sha-256=:([A-Za-z0-9+/=]*):/.exec(header)?.[1];
  if (digest !== undefined) return digest;
  throw new Refusal('checksum_invalid', 'Content-Digest has no sha-256; send sha-256=:<base64>:.');
}
