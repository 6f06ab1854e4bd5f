import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Refusal } from '../../errors.js';

/** Standard input as a file: a build reads its input more than once. */
export interface SpooledInput {
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * Copies what comes on standard input, as it comes, into a folder of its own below TMPDIR.
 * Errors  Refusal `disk_full`; the signal's reason
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
      `${tmpdir()} has no room for what comes on standard input. Give it as a file, or name another folder by TMPDIR.`,
    );
  }
}
