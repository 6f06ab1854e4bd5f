import { builtFileSender } from '../built-file.js';
import { consoleFileNames, readConsoleFile } from '../console/built-files.js';
import { CONSOLE_POLICY } from '../console/files.js';
import { page, sendHtml, type InternalPage } from '../internal-page.js';
import type { Shell, ShellContext } from '../shell.js';
import { builtManual, manualFileNames, readManualFile, type BuiltManual } from './built-manual.js';
import { errorsPage } from './errors-page.js';
import { framedPage, type FramedPage } from './frame.js';

/** The manual at `/docs/`, as config/manual.mjs renders it. It works without a session and without the internet. */
export function manualPages({ basePath }: Pick<Shell, 'basePath'>): readonly InternalPage[] {
  const manual = builtManual();
  return [
    page('internal.docs', '/docs', (context) => context.redirect(`${basePath}/docs/`)),
    ...manual.pages.map((each) => page('internal.docs', `/docs/${each.name}`, sender(each, manual))),
    page('internal.docs_errors', '/docs/errors', sender(errorsPage(), manual)),
    page('internal.docs_files', '/docs/files/{file}', builtFileSender('The manual', bytesOf)),
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

function bytesOf(name: string): Buffer | undefined {
  const built = consoleFileNames();
  if (built !== undefined && [built.manualScript, built.manualStyle, built.icon].includes(name))
    return readConsoleFile(name);
  return manualFileNames().includes(name) ? readManualFile(name) : undefined;
}
