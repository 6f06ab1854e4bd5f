import { inspect } from 'node:util';
import { GloamingError } from '../../clients/typescript/client.js';
import { Fault, Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';

/**
 * Reports what the caller can fix, and failures of disk, device or peer, in one line. An internal error shows its
 * causes. Returns the exit code: 2 for what the caller can fix, else 1.
 */
export function reportError(error: unknown, { stderr }: Pick<CommandContext, 'stderr'>): number {
  if (error instanceof Refusal || error instanceof GloamingError) {
    stderr.write(`gloaming: ${error.message}\n`);
    const errors = error instanceof Refusal ? (error.details.errors ?? []) : error.places;
    if (errors.length > 1) for (const each of errors) stderr.write(`  ${each.location}: ${each.message}\n`);
    return 2;
  }
  const isFault = error instanceof Fault || isSystemError(error);
  stderr.write(`gloaming: ${isFault ? sentencesOf(error) : inspect(error)}\n`);
  return 1;
}

/** A fault and its causes, outermost first. */
function sentencesOf(fault: Error): string {
  const sentences: string[] = [];
  for (let each: unknown = fault; each instanceof Error; each = each.cause) sentences.push(sentenceOf(each));
  return sentences.join(' ');
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
