import type { Warning } from '../../contract/grammar/envelope.js';

/** Returns the line of standard error for a warning. */
export function warningLine({ code, message }: Pick<Warning, 'code' | 'message'>): string {
  return `gloaming: warning: ${code}: ${message}\n`;
}
