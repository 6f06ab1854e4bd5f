import { createWriteStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Fault, Refusal } from '../errors.js';
import { REFRESH_SILENCE_TIMEOUT_MS } from '../limits.js';
import { replaceFile } from '../release/hashed-file.js';

/** What a server said of the file that was last built from it. */
export interface RemoteVersion {
  readonly url: string;
  readonly etag: string | null;
  readonly last_modified: string | null;
}

export interface Download {
  readonly path: string;
  /** To be remembered when all that the file is for is done. */
  readonly version: RemoteVersion;
}

export interface DownloadOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  readonly onBytes?: (done: number, total: number) => void;
}

const FILE = 'download';
const VERSION_FILE = 'version.json';

/**
 * Downloads a file into the folder, in place of an earlier one; undefined where the server says that it is what was
 * remembered (ETag, Last-Modified).
 * Errors  Refusal `download_too_large`; Fault with the server's answer, or where it says nothing for a minute
 */
export async function downloadIfChanged(
  url: URL,
  folder: string,
  options: DownloadOptions,
): Promise<Download | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const known = await readVersion(folder);
  const silence = new AbortController();
  const wait = (): NodeJS.Timeout =>
    setTimeout(() => silence.abort(new Fault('It said nothing for a minute.')), REFRESH_SILENCE_TIMEOUT_MS);
  let timer = wait();
  const onBytes = (done: number, total: number): void => {
    clearTimeout(timer);
    timer = wait();
    options.onBytes?.(done, total);
  };
  const signal = AbortSignal.any([silence.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  try {
    const answer = await fetch(url, { signal, headers: known?.url === url.href ? conditionsOf(known) : {} });
    if (answer.status === 304) return undefined;
    if (!answer.ok || answer.body === null) throw new Fault(`It answered ${answer.status}.`);
    const path = join(folder, FILE);
    await pipeline(
      Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]),
      bounded(url, Number(answer.headers.get('content-length') ?? 0), { ...options, onBytes }),
      createWriteStream(path, { mode: 0o600 }),
      { signal },
    );
    const [etag, lastModified] = ['etag', 'last-modified'].map((name) => answer.headers.get(name));
    return { path, version: { url: url.href, etag, last_modified: lastModified } };
  } catch (cause) {
    if (cause instanceof Refusal || options.signal?.aborted === true) throw cause;
    throw new Fault(`${url.href} could not be downloaded.`, { cause: silence.signal.reason ?? cause });
  } finally {
    clearTimeout(timer);
  }
}

/** Remembers what was built, so that it is not downloaded again. */
export async function rememberVersion(folder: string, version: RemoteVersion): Promise<void> {
  await replaceFile(join(folder, VERSION_FILE), `${JSON.stringify(version)}\n`);
}

async function readVersion(folder: string): Promise<RemoteVersion | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, VERSION_FILE), 'utf8')) as RemoteVersion;
  } catch {
    // A version that cannot be read costs a download.
    return undefined;
  }
}

function conditionsOf({ etag, last_modified: lastModified }: RemoteVersion): Record<string, string> {
  return {
    ...(etag !== null && { 'if-none-match': etag }),
    ...(lastModified !== null && { 'if-modified-since': lastModified }),
  };
}

/** Passes bytes on up to the bound. */
function bounded(url: URL, announcedBytes: number, { maxBytes, onBytes }: DownloadOptions): Transform {
  let done = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, next) {
      done += chunk.length;
      onBytes?.(done, Math.max(done, announcedBytes));
      if (done <= maxBytes) return next(null, chunk);
      const most = `${Math.round(maxBytes / 1e6).toLocaleString('en')} MB`;
      return next(
        new Refusal(
          'download_too_large',
          `${url.href} has more than ${most}; --max-size takes another bound.`,
        ),
      );
    },
  });
}
