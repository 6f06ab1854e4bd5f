import { gzipSync } from 'node:zlib';
import { Refusal } from '../errors.js';
import type { ShellContext } from './shell.js';

/** Names of built files contain a digest of their bytes, so that a browser may keep them. */
const LONG = 'public, max-age=31536000, immutable';
export const BUILT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
  png: 'image/png',
  webp: 'image/webp',
};
/** Pictures of these types are compressed already. */
const COMPRESSED: ReadonlySet<string> = new Set([BUILT_TYPES.png, BUILT_TYPES.webp]);

interface BuiltFile {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Absent for pictures that are compressed already. */
  readonly gzipped?: Buffer;
}

/**
 * Returns a handler that serves the file that the path names. A file is read and compressed at its first request.
 * @param owner  noun phrase of what has the files, such as "The console"
 * @param read  bytes of a file that the build has listed; undefined for any other name
 * Errors  of the handler: Refusal `route_not_found`, and those of `read`
 */
export function builtFileSender(
  owner: string,
  read: (name: string) => Buffer | undefined,
): (context: ShellContext) => void {
  const files = new Map<string, BuiltFile>();
  const fileNamed = (name: string): BuiltFile => {
    const cached = files.get(name);
    if (cached !== undefined) return cached;
    const contentType = BUILT_TYPES[name.slice(name.lastIndexOf('.') + 1)];
    const bytes = contentType === undefined ? undefined : read(name);
    if (contentType === undefined || bytes === undefined) {
      throw new Refusal('route_not_found', `${owner} has no file ${JSON.stringify(name.slice(0, 128))}.`);
    }
    const isCompressed = COMPRESSED.has(contentType);
    const file = { contentType, bytes, ...(!isCompressed && { gzipped: gzipSync(bytes, { level: 9 }) }) };
    files.set(name, file);
    return file;
  };
  return (context) => {
    const { contentType, bytes, gzipped } = fileNamed(context.state.params.file ?? '');
    const isGzip = gzipped !== undefined && context.acceptsEncodings('gzip', 'identity') === 'gzip';
    context.set({
      'Content-Type': contentType,
      'Cache-Control': LONG,
      'Cross-Origin-Resource-Policy': 'same-origin',
      'X-Content-Type-Options': 'nosniff',
      Vary: 'Accept-Encoding',
      ...(isGzip && { 'Content-Encoding': 'gzip' }),
    });
    context.body = isGzip ? gzipped : bytes;
  };
}
