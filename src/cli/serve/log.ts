import { pino, type Logger } from 'pino';
import type { ApplianceConfig } from '../../config.js';
import { KIBIBYTE_BYTES, LOG_WAITING_MAX_BYTES } from '../../limits.js';
import type { CommandContext } from '../terminal/command.js';

/** Size at which waiting lines are written together. Lines also leave at the next tick. */
const WRITE_TOGETHER_BYTES = 4 * KIBIBYTE_BYTES;
const WRITE_AFTER_MS = 200;
const STANDARD_ERROR = 2;
/** Lowest level on a terminal, unless another is set: requests are of level `info`. */
const TERMINAL_LEVEL = 'warn';
/** Numbers of pino's levels from which a line of a terminal names its level. */
const WARN = 40;
const ERROR = 50;

/**
 * Returns the log of a server, on standard error: JSON lines for programs, or sentences if a person watches. A terminal
 * shows warnings and errors only, unless the settings set a level.
 */
export function createServerLog(
  { logLevel, isLogLevelSet }: Pick<ApplianceConfig, 'logLevel' | 'isLogLevelSet'>,
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
): Logger {
  if (stdout.isTTY !== true || stderr.isTTY !== true) return createLog(logLevel, STANDARD_ERROR);
  const level = isLogLevelSet ? logLevel : TERMINAL_LEVEL;
  return pino({ level, base: null }, { write: (line) => void stderr.write(describeLine(line)) });
}

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

/** Members of a line of pino that have a place of their own in the sentence. */
interface LogLine extends Readonly<Record<string, unknown>> {
  readonly level: number;
  readonly time: number;
  readonly msg: string;
  readonly err?: { readonly message?: string };
}

/** Returns a line for people: time of day, level if it is not usual, message, cause, and the other members. */
function describeLine(json: string): string {
  const { level, time, msg, err, ...facts } = JSON.parse(json) as LogLine;
  const word = level >= ERROR ? 'error: ' : level >= WARN ? 'warning: ' : '';
  const cause = err?.message === undefined ? '' : ` (${err.message})`;
  const rest = Object.entries(facts).map(([name, value]) => ` ${name}=${textOf(value)}`);
  return `${new Date(time).toTimeString().slice(0, 'hh:mm:ss'.length)} ${word}${msg}${cause}${rest.join('')}\n`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
