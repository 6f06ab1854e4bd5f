import { FILE_URL_PATTERN } from '../../contract/storage/files.js';
import { Refusal } from '../../errors.js';
import type { FileRow, FileTable } from '../../store/storage/files.js';
import type { RequestContext } from '../context.js';
import { notFound } from './file-access.js';

const FILE_URL = new RegExp(FILE_URL_PATTERN, 'u');

/** Last part of a path. */
export function fileNameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Path of a file's ordinary URL. It names the file, not its content: it stays when the file is replaced. */
export function filePath({ id, path }: Pick<FileRow, 'id' | 'path'>): string {
  return `/v1/storage/files/${id}/${encodeURIComponent(fileNameOf(path))}`;
}

/** Absolute if the server's address is configured. Request headers are never used for it. */
export function absoluteUrl(path: string, { baseUrl = '' }: Pick<RequestContext, 'baseUrl'>): string {
  return baseUrl + path;
}

/**
 * Finds the file of an ordinary URL of this server, or of a URL without origin. No URL is fetched.
 * Errors  Refusal `file_not_managed` for every other URL, `file_not_found`
 */
export function findByUrl(
  url: string,
  files: FileTable,
  { baseUrl }: Pick<RequestContext, 'baseUrl'>,
): FileRow {
  const [, address, id, name] = FILE_URL.exec(url) ?? [];
  if (id === undefined) throw notManaged();
  const file = files.get(id);
  if (file === undefined || !isNameOf(file, name)) throw notFound('this URL');
  if (address !== undefined && !isOurs(address, baseUrl)) throw notManaged();
  return file;
}

function isOurs(address: string, baseUrl: string | undefined): boolean {
  if (baseUrl === undefined || !URL.canParse(address)) return false;
  return new URL(address).href === new URL(baseUrl).href;
}

function notManaged(): Refusal {
  return new Refusal(
    'file_not_managed',
    'The URL is not that of a file of this server. Files elsewhere keep the access policy of their provider.',
    { param: 'url' },
  );
}

function isNameOf({ path }: FileRow, escaped = ''): boolean {
  try {
    return decodeURIComponent(escaped) === fileNameOf(path);
  } catch {
    return false;
  }
}
