import { pino, type Logger } from 'pino';
import { KIBIBYTE_BYTES, LOG_WAITING_MAX_BYTES } from '../../limits.js';

/** Size at which waiting lines are written together. Lines also leave at the next tick. */
const WRITE_TOGETHER_BYTES = 4 * KIBIBYTE_BYTES;
const WRITE_AFTER_MS = 200;

/**
 * Logs JSON lines asynchronously: no request waits for the disk or a terminal. Waiting lines are written when the
 * process ends. If the destination blocks, lines beyond the bound are dropped.
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
