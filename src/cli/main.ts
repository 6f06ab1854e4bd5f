#!/usr/bin/env node
import { inspect } from 'node:util';
import { Command } from 'commander';
import { GloamingError } from '../clients/typescript/client.js';
import { Fault, Refusal } from '../errors.js';
import type { RegisterCommand } from './terminal/command.js';
import { printedContext } from './terminal/printed.js';

type Load = () => Promise<{ readonly register: RegisterCommand }>;

/** In the order of the help. One command loads its own modules only: those of all take 0.8 s of processor time. */
const COMMANDS: readonly (readonly [names: readonly string[], load: Load])[] = [
  [['start', 'serve'], () => import('./serve/start.js')],
  [['init'], () => import('./admin/init.js')],
  [['config'], () => import('./admin/config.js')],
  [['console'], () => import('./serve/console.js')],
  [['search'], () => import('./search/search.js')],
  [['batch'], () => import('./batch/batch.js')],
  [['runs'], () => import('./runs/runs.js')],
  [['index'], () => import('./index/index.js')],
  [['refresh'], () => import('./index/releases/refresh.js')],
  [['calibration'], () => import('./index/calibration.js')],
  [['background'], () => import('./index/homolog-source.js')],
  [['encoder'], () => import('./admin/encoder.js')],
  [['keys'], () => import('./admin/keys.js')],
  [['verify'], () => import('./search/verify.js')],
  [['backup', 'restore'], () => import('./admin/backup.js')],
  [['fsck'], () => import('./admin/fsck.js')],
  [['doctor'], () => import('./admin/doctor.js')],
  [['upgrade'], () => import('./admin/upgrade.js')],
];

const context = printedContext({
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
});

const program = new Command('gloaming')
  .description('Finds distant homologs of a protein by exact late-interaction search.')
  .showHelpAfterError('(see --help)')
  .configureOutput({ writeErr: (text) => context.stderr.write(text) })
  .version('0.1.0');
const named = COMMANDS.filter(([names]) => names.includes(process.argv[2] ?? ''));

try {
  for (const [, load] of named.length > 0 ? named : COMMANDS) (await load()).register(program, context);
  await program.parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error);
}

/**
 * Reports what the caller can fix, and failures of disk, device or peer, in one line. An internal error shows its
 * causes.
 */
function report(error: unknown): number {
  if (error instanceof Refusal || error instanceof GloamingError) {
    context.stderr.write(`gloaming: ${error.message}\n`);
    const errors = error instanceof Refusal ? (error.details.errors ?? []) : error.places;
    if (errors.length > 1)
      for (const each of errors) context.stderr.write(`  ${each.location}: ${each.message}\n`);
    return 2;
  }
  const isFault = error instanceof Fault || isSystemError(error);
  context.stderr.write(`gloaming: ${isFault ? sentencesOf(error) : inspect(error)}\n`);
  return 1;
}

/** A fault and its causes, outermost first. */
function sentencesOf(fault: Error): string {
  const said: string[] = [];
  for (let each: unknown = fault; each instanceof Error; each = each.cause) said.push(sentenceOf(each));
  return said.join(' ');
}

/** A failed call of the operating system, such as EMFILE or EIO, or a module that could not be opened. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  const isCode = /^(E[A-Z0-9]+|ERR_MODULE_NOT_FOUND)$/;
  return error instanceof Error && isCode.test(String((error as NodeJS.ErrnoException).code));
}

function sentenceOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  const isShort = ['EMFILE', 'ENFILE', 'ERR_MODULE_NOT_FOUND'].includes(String(code));
  if (!isShort) return error.message;
  return `${error.message}. Raise the limit of open files ("ulimit -n", LimitNOFILE) and start again.`;
}
