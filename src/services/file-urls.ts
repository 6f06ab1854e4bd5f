import { Refusal } from '../errors.js';
import type { FileRow, FileTable } from '../store/files.js';
import type { RequestContext } from './context.js';
import { notFound } from './file-access.js';

/** Last part of a path. */
export function fileNameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Path of a file's ordinary URL. It names the file, not its content: it stays when the file is replaced. */
export function filePath({ id, path }: Pick<FileRow, 'id' | 'path'>): string {
  return `/v1/storage/files/${id}/${encodeURIComponent(fileNameOf(path))}`;
}

/** Absolute where the server knows its address, and never from what a request claims. */
export function absoluteUrl(path: string, { baseUrl = '' }: Pick<RequestContext, 'baseUrl'>): string {
  return baseUrl + path;
}

/**
 * The file that an ordinary URL of this server names; nothing is ever fetched. A URL without origin is one, too.
 * Errors  Refusal `file_not_managed` for every other URL, `file_not_found`
 */
export function findByUrl(
  url: string,
  files: FileTable,
  { baseUrl }: Pick<RequestContext, 'baseUrl'>,
): FileRow {
  const path = pathOf(url, baseUrl);
  const [, id, name] = /^\/v1\/storage\/files\/(fil_[0-9a-f]{24})\/([^/]+)$/.exec(path ?? '') ?? [];
  if (id === undefined) {
    throw new Refusal(
      'file_not_managed',
      'The URL is not that of a file of this server. Files elsewhere keep the access policy of their provider.',
      { param: 'url' },
    );
  }
  const file = files.get(id);
  if (file === undefined || !isNameOf(file, name)) throw notFound('this URL');
  return file;
}

function pathOf(url: string, baseUrl: string | undefined): string | undefined {
  if (/^\/[^/\\]/.test(url)) return url;
  if (baseUrl === undefined || !URL.canParse(url)) return undefined;
  const { origin, pathname, search, hash, username, password } = new URL(url);
  const isPlain = search === '' && hash === '' && username === '' && password === '';
  return isPlain && origin === new URL(baseUrl).origin ? pathname : undefined;
}

function isNameOf({ path }: FileRow, escaped: string): boolean {
  try {
    return decodeURIComponent(escaped) === fileNameOf(path);
  } catch {
    return false;
  }
}
