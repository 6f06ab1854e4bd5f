import { consoleFileNames } from '../console/built-files.js';
import { manualFileNames, type BuiltManual, type ManualHeading } from './built-manual.js';

/** Content of one page, to be put into the frame of the manual. */
export interface FramedPage {
  /** Last part of the address, such as `start`; empty for the index. */
  readonly name: string;
  readonly title: string;
  /** Trusted HTML. */
  readonly html: string;
  readonly headings: readonly ManualHeading[];
}

/**
 * A whole page of the manual: search, list of pages, content, and links to the pages before and after. All links are
 * relative to `/docs/`, because a proxy may serve the appliance below a path.
 */
export function framedPage(page: FramedPage, { groups }: Pick<BuiltManual, 'groups'>): string {
  const files = consoleFileNames();
  const index = manualFileNames().find((name) => /^search-\w+\.json$/.test(name));
  const title = page.name === '' ? 'Gloaming manual' : `${escapeHtml(page.title)} · Gloaming manual`;
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    ...(files === undefined
      ? []
      : [
          `<link rel="icon" href="files/${files.icon}">`,
          `<link rel="stylesheet" href="files/${files.manualStyle}">`,
          `<script type="module" src="files/${files.manualScript}"></script>`,
        ]),
    '</head><body><a class="skip" href="#main">Skip to content</a>',
    '<header class="top"><a class="mark" href="./">',
    ...(files === undefined ? [] : [`<img src="files/${files.icon}" alt="" width="26" height="26">`]),
    'Gloaming <span class="wide-only">manual</span></a>',
    `<div class="manual-search" role="search" data-index="files/${index ?? ''}"></div>`,
    '<div class="top-end"><a class="narrow-only" href="#pages">Pages</a><a href="../console/">Console</a>',
    '<a class="wide-only" href="api">API</a><span data-theme-button></span></div></header>',
    `<div class="manual"><nav id="pages" class="pages" aria-label="Pages">${navigation(page.name, groups)}</nav>`,
    `<main id="main" tabindex="-1"><article>${page.html}</article>${neighbours(page.name, groups)}</main>`,
    `${contents(page.headings)}</div></body></html>`,
  ].join('\n');
}

function navigation(current: string, groups: BuiltManual['groups']): string {
  return groups
    .map(({ title, pages }) => {
      const items = pages.map(({ name, title: label }) => {
        const mark = name === current ? ' aria-current="page"' : '';
        return `<li><a href="${name}"${mark}>${escapeHtml(label)}</a></li>`;
      });
      return `<p>${escapeHtml(title)}</p><ul>${items.join('')}</ul>`;
    })
    .join('');
}

/** Headings of the second level, if there are several. */
function contents(headings: readonly ManualHeading[]): string {
  const listed = headings.filter(({ level }) => level === 2);
  if (listed.length < 2) return '';
  const items = listed.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`);
  return `<nav class="contents" aria-label="On this page"><p>On this page</p><ul>${items.join('')}</ul></nav>`;
}

function neighbours(current: string, groups: BuiltManual['groups']): string {
  const pages = groups.flatMap(({ pages: ofGroup }) => ofGroup);
  const at = pages.findIndex(({ name }) => name === current);
  const before = pages[at - 1];
  const after = pages[at + 1];
  if (at < 0 && current !== '') return '';
  const links = [
    ...(at > 0 && before !== undefined
      ? [`<a rel="prev" href="${before.name}">← ${escapeHtml(before.title)}</a>`]
      : []),
    ...(after !== undefined ? [`<a rel="next" href="${after.name}">${escapeHtml(after.title)} →</a>`] : []),
  ];
  return `<nav class="neighbours" aria-label="Neighbouring pages">${links.join('')}</nav>`;
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
