import { pino, type Logger } from 'pino';
import { KIBIBYTE_BYTES, LOG_WAITING_MAX_BYTES } from '../../limits.js';

/** Lines are written together, but none waits longer for others. */
const WRITE_TOGETHER_BYTES = 4 * KIBIBYTE_BYTES;
const WRITE_AFTER_MS = 200;

/**
 * Log lines as JSON, written behind the requests that they tell of: no request waits for the disk or for a terminal.
 * What waits is written at the process's end; where nobody takes the lines, those past the bound are dropped.
 *
 * @param destination descriptor or file
 */
export function createLog(level: string, destination: number | string): Logger {
  const lines = pino.destination({
    dest: destination,
    sync: false,
    minLength: WRITE_TOGETHER_BYTES,
    maxLength: LOG_WAITING_MAX_BYTES,
    periodicFlush: WRITE_AFTER_MS,
  });
  return pino({ level }, lines);
}
