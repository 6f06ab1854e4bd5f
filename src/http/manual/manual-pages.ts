import { gzipSync } from 'node:zlib';
import { Refusal } from '../../errors.js';
import { consoleFileNames, readConsoleFile } from '../console/built-files.js';
import { CONSOLE_POLICY } from '../console/files.js';
import { page, sendHtml, type InternalPage } from '../internal-page.js';
import type { Shell, ShellContext } from '../shell.js';
import { builtManual, manualFileNames, readManualFile, type BuiltManual } from './built-manual.js';
import { errorsPage } from './errors-page.js';
import { framedPage, type FramedPage } from './frame.js';

const LONG = 'public, max-age=31536000, immutable';
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
  png: 'image/png',
  webp: 'image/webp',
};

interface ManualFile {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Absent for pictures that are compressed already. */
  readonly gzipped?: Buffer;
}

/** The manual at `/docs/`, as config/manual.mjs renders it. It works without a session and without the internet. */
export function manualPages({ basePath }: Pick<Shell, 'basePath'>): readonly InternalPage[] {
  const manual = builtManual();
  const files = new Map<string, ManualFile>();
  return [
    page('internal.docs', '/docs', (context) => context.redirect(`${basePath}/docs/`)),
    ...manual.pages.map((each) => page('internal.docs', `/docs/${each.name}`, sender(each, manual))),
    page('internal.docs_errors', '/docs/errors', sender(errorsPage(), manual)),
    page('internal.docs_files', '/docs/files/{file}', (context) => {
      sendFile(context, fileNamed(context.state.params.file ?? '', files));
    }),
  ];
}

/** Writes the page at the first request and caches it. */
function sender(framed: FramedPage, manual: BuiltManual): (context: ShellContext) => void {
  let html: string | undefined;
  return (context) => {
    html ??= framedPage(framed, manual);
    sendHtml(context, html, CONSOLE_POLICY);
    context.set('Cache-Control', 'no-cache');
  };
}

function sendFile(context: ShellContext, { contentType, bytes, gzipped }: ManualFile): void {
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
}

/** Returns a file that the build has listed. Errors  Refusal `route_not_found` */
function fileNamed(name: string, files: Map<string, ManualFile>): ManualFile {
  const cached = files.get(name);
  if (cached !== undefined) return cached;
  const contentType = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  const bytes = contentType === undefined ? undefined : bytesOf(name);
  if (contentType === undefined || bytes === undefined) {
    throw new Refusal('route_not_found', `The manual has no file ${JSON.stringify(name.slice(0, 128))}.`);
  }
  const isCompressed = /^image\/(png|webp)/.test(contentType);
  const file = { contentType, bytes, ...(!isCompressed && { gzipped: gzipSync(bytes, { level: 9 }) }) };
  files.set(name, file);
  return file;
}

function bytesOf(name: string): Buffer | undefined {
  const built = consoleFileNames();
  if (built !== undefined && [built.manualScript, built.manualStyle, built.icon].includes(name))
    return readConsoleFile(name);
  return manualFileNames().includes(name) ? readManualFile(name) : undefined;
}
