import {
  COLABFOLD_ARCHIVES_AT_WORK_MAX_COUNT,
  COLABFOLD_ARCHIVES_WAITING_MAX_COUNT,
  COLABFOLD_QUERIES_MAX_COUNT,
  UNFINISHED_RUNS_PER_ORGANIZATION_MAX_COUNT,
} from '../../limits.js';
import type { TicketLoad } from '../../services/colabfold/tickets.js';
import { consoleFileNames } from '../console/built-files.js';
import { CONSOLE_POLICY } from '../console/files.js';
import { page, sendHtml, type InternalPage } from '../internal-page.js';
import { escapeHtml } from '../manual/frame.js';
import type { ColabfoldDoor, Shell } from '../shell.js';

/** Counts are read again after this time, because anyone may load the page and a count reads all waiting runs. */
const COUNTS_MAX_AGE_MS = 1_000;
const MINUTE_MS = 60_000;

/**
 * The page at the path of ColabFold's MSA interface: its limits, and the work that waits. It needs no key and names no
 * organization, database or sequence.
 */
export function colabfoldPage(shell: Shell, door: ColabfoldDoor): InternalPage {
  let counted: { readonly load: TicketLoad; readonly atMs: number } | undefined;
  return page('internal.colabfold.page', door.settings.path, (context) => {
    const atMs = shell.clock.nowMs();
    if (counted === undefined || atMs - counted.atMs > COUNTS_MAX_AGE_MS)
      counted = { load: door.tickets.load(), atMs };
    sendHtml(context, htmlOf(shell, door, counted.load), CONSOLE_POLICY);
    context.set('Cache-Control', 'no-store');
  });
}

function htmlOf({ basePath, baseUrl, limits }: Shell, { settings }: ColabfoldDoor, load: TicketLoad): string {
  const files = consoleFileNames();
  const manual = `${basePath}/docs/`;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>MSA server · Gloaming</title>',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    ...(files === undefined
      ? []
      : [
          `<link rel="icon" href="${manual}files/${files.icon}">`,
          `<link rel="stylesheet" href="${manual}files/${files.manualStyle}">`,
        ]),
    '</head><body class="manual"><main id="main"><article><h1>MSA server</h1>',
    '<p>ColabFold, Boltz, Chai and Protenix get alignments here. The address for them is',
    `<code>${escapeHtml(baseUrl() + settings.path)}</code>. The manual has`,
    `<a href="${manual}msa#in-the-place-of-colabfolds-server">the commands</a>.</p>`,
    '<h2>Queue</h2>',
    table([
      ['runs that wait', count(load.waitingRuns)],
      ['runs at work', count(load.runsAtWork)],
      ['archives that wait or are in the making', count(load.archives)],
      ['longest wait', `${count(Math.floor(load.longestWaitMs / MINUTE_MS))} min`],
    ]),
    '<p>A sequence of a ticket is one run or two. Organizations take turns. Load the page again for new numbers.</p>',
    '<h2>Limits</h2>',
    table([
      ['requests of a key', `${count(limits.requestQuota)} in ${count(limits.requestWindowSeconds)} s`],
      ['sequences of a ticket', count(COLABFOLD_QUERIES_MAX_COUNT)],
      ['unfinished runs of an organization', count(UNFINISHED_RUNS_PER_ORGANIZATION_MAX_COUNT)],
      [
        'archives in the making; waiting of an organization',
        `${COLABFOLD_ARCHIVES_AT_WORK_MAX_COUNT}; ${COLABFOLD_ARCHIVES_WAITING_MAX_COUNT}`,
      ],
    ]),
    '<h2>Rows</h2>',
    table([
      ['E-value', settings.maxEvalue === null ? 'any' : `at most ${settings.maxEvalue}`],
      ['coverage of the query', `at least ${settings.minCoverage}`],
      ['candidates of a search', `at most ${count(settings.maxSequences)}`],
      ['rounds of search', settings.hasBackgroundRows ? count(settings.rounds) : '1'],
      ['rows of a homolog source', settings.hasBackgroundRows && settings.homologSource ? 'yes' : 'no'],
    ]),
    '</article></main></body></html>',
  ].join('\n');
}

function table(rows: readonly (readonly [string, string])[]): string {
  const cells = rows.map(
    ([name, value]) => `<tr><th scope="row">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`,
  );
  return `<div class="table"><table><tbody>${cells.join('\n')}</tbody></table></div>`;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
