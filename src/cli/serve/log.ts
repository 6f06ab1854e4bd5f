import { pino, type Logger } from 'pino';
import type { ApplianceConfig } from '../../config.js';
import { KIBIBYTE_BYTES, LOG_LINE_MAX_CHARACTERS, LOG_WAITING_MAX_BYTES } from '../../limits.js';
import { printableLines } from '../../printable.js';
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
  return pino(
    { level, base: null, serializers: { err: describeError } },
    { write: (line) => void stderr.write(printableLines(describeLine(line))) },
  );
}

/**
 * Logs JSON lines asynchronously: no request waits for the disk or a terminal. Waiting lines are written when the
 * process ends. If the destination blocks, lines beyond the bound are dropped. A line has a bounded length and no
 * control or bidirectional character.
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
  return pino(
    { level, serializers: { err: describeError } },
    { write: (line: string) => lines.write(printableLines(shortened(line))) },
  );
}

/** Members of an error that a log line has. Errors of parsers and sockets have others, such as whole packets. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  // The standard serializer joins the messages and stacks of all causes.
  const { type, message, stack } = pino.stdSerializers.err(error);
  const { code } = error as NodeJS.ErrnoException;
  const cut = (text: string): string => text.slice(0, LOG_LINE_MAX_CHARACTERS / 4);
  return {
    type,
    ...(typeof code === 'string' && { code: cut(code) }),
    message: cut(message),
    stack: cut(stack),
  };
}

function shortened(line: string): string {
  if (line.length <= LOG_LINE_MAX_CHARACTERS) return line;
  const beginning = line.slice(0, LOG_LINE_MAX_CHARACTERS / 4);
  return `${JSON.stringify({ msg: `A log line of ${line.length} characters was cut.`, beginning })}\n`;
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
  const text = `${word}${msg}${cause}${rest.join('')}`.slice(0, LOG_LINE_MAX_CHARACTERS);
  return `${new Date(time).toTimeString().slice(0, 'hh:mm:ss'.length)} ${text}\n`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
