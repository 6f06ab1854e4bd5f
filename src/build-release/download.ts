import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Fault, Refusal } from '../errors.js';
import { REFRESH_SILENCE_TIMEOUT_MS } from '../limits.js';
import { replaceFile } from '../files.js';

/** Validators of the file that the latest refresh was built from. */
export interface RemoteVersion {
  readonly url: string;
  readonly etag: string | null;
  readonly last_modified: string | null;
}

export interface Download {
  readonly path: string;
  /** Validators to store (rememberVersion) after the build has succeeded. */
  readonly version: RemoteVersion;
}

export interface DownloadOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  readonly onBytes?: (done: number, total: number) => void;
}

/** Each download has a folder of its own. Its file has one name, which the digest of families and structures names. */
const FOLDER_PREFIX = 'download-';
const FILE = 'download';
const VERSION_FILE = 'version.json';

/**
 * Downloads a file into the folder, beside earlier ones. Returns undefined if the server reports the stored version as
 * unchanged (ETag, Last-Modified).
 * Errors  Refusal `download_too_large`; `invalid_option` for an address with a password; Fault for a failed download,
 *         or after a minute without data; errors of the file system; the signal's reason
 */
export async function downloadIfChanged(
  url: URL,
  folder: string,
  options: DownloadOptions,
): Promise<Download | undefined> {
  if (url.username !== '' || url.password !== '') {
    throw new Refusal(
      'invalid_option',
      `The address ${shownAddress(url)} has a user name or password, which would be visible in lists of processes. ` +
        'Download the file by a program that keeps passwords, and refresh from that file.',
    );
  }
  const stored = await readVersion(folder);
  const silence = new AbortController();
  const wait = (): NodeJS.Timeout =>
    setTimeout(
      () => silence.abort(new Fault('The server sent no data for a minute.')),
      REFRESH_SILENCE_TIMEOUT_MS,
    );
  let timer = wait();
  const onBytes = (done: number, total: number): void => {
    clearTimeout(timer);
    timer = wait();
    options.onBytes?.(done, total);
  };
  const signal = AbortSignal.any([silence.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  try {
    const answer = await fetch(url, {
      signal,
      headers: stored?.url === url.href ? conditionsOf(stored) : {},
    });
    if (answer.status === 304) return undefined;
    if (!answer.ok || answer.body === null) throw new Fault(`The server answered ${answer.status}.`);
    const path = join(await mkdtemp(join(folder, FOLDER_PREFIX)), FILE);
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
    throw new Fault(`${shownAddress(url)} could not be downloaded.`, {
      cause: silence.signal.reason ?? cause,
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Removes all downloads of a folder, also those of killed processes. Errors  of the file system */
export async function removeDownloads(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name === FILE || name.startsWith(FOLDER_PREFIX));
  for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
}

/** The address without user name, password and query, which may be secret. */
function shownAddress({ origin, pathname }: URL): string {
  return origin + pathname;
}

/** Stores the validators of the file that was built, so that it is not downloaded again. Errors  of the file system */
export async function rememberVersion(folder: string, version: RemoteVersion): Promise<void> {
  await replaceFile(join(folder, VERSION_FILE), `${JSON.stringify(version)}\n`);
}

async function readVersion(folder: string): Promise<RemoteVersion | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, VERSION_FILE), 'utf8')) as RemoteVersion;
  } catch {
    // Without readable validators the file is downloaded again.
    return undefined;
  }
}

function conditionsOf({ etag, last_modified: lastModified }: RemoteVersion): Record<string, string> {
  return {
    ...(etag !== null && { 'if-none-match': etag }),
    ...(lastModified !== null && { 'if-modified-since': lastModified }),
  };
}

/** Returns a stream that fails after `maxBytes`. */
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
          `${shownAddress(url)} has more than ${most}; raise the limit with --max-size.`,
        ),
      );
    },
  });
}
