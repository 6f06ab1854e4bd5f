import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { CONTRACT_VERSION } from '../../contract/grammar/headers.js';

/** A file of the documentation page. */
export interface DocsFile {
  readonly contentType: string;
  readonly bytes: Buffer;
}

const manifestPath = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json');
const { version } = JSON.parse(readFileSync(manifestPath, 'utf8')) as { readonly version: string };
/**
 * Relative to the page, which a proxy may serve below a path. The version is part of the address, so that browsers may
 * cache the files for ever.
 */
const FILES = `swagger-ui-${version}`;

const TYPES: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};
const START_FILE = 'start.js';

/** Path of the files of the page, with a parameter for the name. */
export const DOCS_FILES_PATH = `/docs/${FILES}/{file}`;

/**
 * Content security policy of the page. It loads from this server only and runs no inline script. Swagger UI sets styles
 * while it draws, and its style sheet contains its pictures.
 *
 * @param origin where requests that are tried out on the page go
 */
export function docsPolicy(origin: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self' ${origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The contract for people at `/docs/api`: Swagger UI over `/openapi.json`. */
export function docsPage(): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Gloaming ${CONTRACT_VERSION}</title>`,
    `<link rel="icon" href="${FILES}/favicon-32x32.png">`,
    `<link rel="stylesheet" href="${FILES}/swagger-ui.css">`,
    '</head><body><p class="swagger-ui wrapper"><a href="./">Manual</a> · <a href="errors">Error codes</a></p>',
    '<div id="docs"></div>',
    `<script src="${FILES}/swagger-ui-bundle.js"></script><script src="${FILES}/${START_FILE}"></script>`,
    '</body></html>',
  ].join('\n');
}

/** The validator of Swagger UI is switched off: it is a service on the internet. */
const START = `SwaggerUIBundle({
  url: '../openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
`;

/** Returns a file of the page by its name, or undefined for an unknown name. Errors  those of the file system */
export async function docsFile(name: string): Promise<DocsFile | undefined> {
  if (name === START_FILE) return { contentType: TYPES['swagger-ui-bundle.js'], bytes: Buffer.from(START) };
  if (!Object.hasOwn(TYPES, name)) return undefined;
  return { contentType: TYPES[name], bytes: await readFile(join(dirname(manifestPath), name)) };
}
