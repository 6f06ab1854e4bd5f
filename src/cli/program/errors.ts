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
  stderr.write(`gloaming: ${error instanceof Fault ? sentencesOf(error) : inspect(error)}\n`);
  return 1;
}

/** A fault and its causes, outermost first. */
function sentencesOf(fault: Fault): string {
  const sentences: string[] = [];
  for (let each: unknown = fault; each instanceof Error; each = each.cause) sentences.push(each.message);
  return sentences.join(' ');
}
