import { BUILT_TYPES, builtFileSender } from '../built-file.js';
import { consoleFileNames, readConsoleFile, type ConsoleFiles } from './built-files.js';
import { Refusal } from '../../errors.js';
import { page, sendHtml, type InternalPage } from '../internal-page.js';
import type { Shell, ShellContext } from '../shell.js';

/**
 * Content security policy of console and manual. A page loads and requests only from this server. No displayed text
 * becomes a script: scripts are files, and the browser refuses text where markup is created (trusted types).
 */
export const CONSOLE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/**
 * The console's page and files, as config/console.mjs builds them. Links are relative, so that a proxy may serve them
 * below a path.
 */
export function consoleFiles({ basePath }: Pick<Shell, 'basePath'>): readonly InternalPage[] {
  return [
    page('internal.console', '/console/', (context) => {
      sendHtml(context, consolePage(), CONSOLE_POLICY);
      context.set({
        'Cache-Control': 'no-cache',
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Resource-Policy': 'same-origin',
      });
    }),
    page('internal.console_address', '/console', (context) => context.redirect(`${basePath}/console/`)),
    page('internal.client', '/client/typescript/gloaming.mjs', (context) => {
      context.set({
        'Content-Type': BUILT_TYPES.js,
        'Cache-Control': 'no-cache',
        'X-Content-Type-Options': 'nosniff',
      });
      context.body = readBuilt('gloaming.mjs');
    }),
    page('internal.console_files', '/console/{file}', builtFileSender('The console', listedFile)),
  ];
}

/** Redirects a browser that opens the root address to the console. Returns true if it did. */
export function leadToConsole({ basePath }: Pick<Shell, 'basePath'>, context: ShellContext): boolean {
  if (!['GET', 'HEAD'].includes(context.method) || consoleFileNames() === undefined) return false;
  if (context.accepts('json', 'html') !== 'html') return false;
  context.redirect(`${basePath}/console/`);
  context.state.operation = 'internal.console_address';
  return true;
}

/** Errors  Refusal `route_not_found` when the console was not built */
function listedFile(name: string): Buffer | undefined {
  return Object.values(builtFiles()).includes(name) ? readBuilt(name) : undefined;
}

/** Errors  Refusal `route_not_found` when the console was not built */
function readBuilt(name: string): Buffer {
  return readConsoleFile(name) ?? refuseUnbuilt();
}

/** Errors  Refusal `route_not_found` when the console was not built */
function builtFiles(): ConsoleFiles {
  return consoleFileNames() ?? refuseUnbuilt();
}

function refuseUnbuilt(): never {
  throw new Refusal('route_not_found', 'The console was not built here; "npm run build" does it.');
}

function consolePage(): string {
  const { script, style, icon } = builtFiles();
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><title>Gloaming</title>',
    `<link rel="icon" href="${icon}"><link rel="stylesheet" href="${style}">`,
    `<script type="module" src="${script}"></script>`,
    '</head><body><div id="console"></div><noscript>The console needs JavaScript; <a href="../docs">the ',
    'documentation</a> of the HTTP interface has none of it in its way.</noscript></body></html>',
  ].join('\n');
}
