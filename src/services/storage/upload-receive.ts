import type { ByteBody } from '../../contract/grammar/route.js';
import { Refusal } from '../../errors.js';
import type { Objects, Received } from '../../store/objects/objects.js';
import type { PartBytes } from '../../store/storage/upload-parts.js';
import type { UploadRow, UploadTable } from '../../store/storage/uploads.js';
import type { Headers } from './file-ranges.js';
import type { StorageRoom } from './room.js';
import { notOpen } from './upload-states.js';

interface ReceiveDependencies {
  readonly table: UploadTable;
  readonly objects: Objects;
  readonly room: StorageRoom;
  readonly now: () => Date;
}

/**
 * Writes the bytes of a part to disk durably. Of two concurrent writes of one part, the one that finishes last counts,
 * until one of them is acknowledged.
 * Errors  Refusal `part_size_mismatch`, `checksum_invalid`, `checksum_mismatch`, `storage_full`, `upload_not_open`,
 *         `upload_expired`; then no bytes are stored
 */
export async function receivePart(
  upload: UploadRow,
  part: number,
  { announcedBytes, bytes }: ByteBody,
  headers: Headers,
  { table, objects, room, now }: ReceiveDependencies,
): Promise<PartBytes> {
  const expectedBytes = sizeOfPart(upload, part);
  const promised = promisedDigest(headers);
  if (announcedBytes !== undefined && announcedBytes !== expectedBytes) {
    throw wrongSize(part, expectedBytes, announcedBytes);
  }
  const giveBack = await room.take(expectedBytes);
  try {
    const received = await objects.receive(bytes, expectedBytes);
    await requirePromised(part, received, expectedBytes, promised);
    const release = await received.persist();
    try {
      const { sha256, sizeBytes } = received;
      const change = await table.keepPart(upload.id, part, { sha256, sizeBytes }, now());
      if (change.result === undefined) throw notOpen(change.upload);
      return { sha256, sizeBytes };
    } finally {
      release();
    }
  } finally {
    giveBack();
    await objects.tryCollect();
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
