import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Refusal } from '../../errors.js';

/** Copy of standard input in a file, because a build reads its input more than once. */
export interface SpooledInput {
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * Copies standard input unchanged to a file in a new folder below TMPDIR.
 * Errors  Refusal `disk_full`; other errors of the file system or stream; the signal's reason
 */
export async function spoolStandardInput(
  stdin: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<SpooledInput> {
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-input-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const path = join(folder, 'standard input');
  try {
    await pipeline(Readable.from(stdin, { objectMode: false }), createWriteStream(path), { signal });
    return { path, remove };
  } catch (cause) {
    await remove();
    signal?.throwIfAborted();
    if ((cause as NodeJS.ErrnoException).code !== 'ENOSPC') throw cause;
    throw new Refusal(
      'disk_full',
      `${tmpdir()} has too little space for standard input. Pass a file, or set TMPDIR to another folder.`,
    );
  }
}
