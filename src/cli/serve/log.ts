import { pino, type Logger } from 'pino';
import { KIBIBYTE_BYTES, LOG_LINE_MAX_CHARACTERS, LOG_WAITING_MAX_BYTES } from '../../limits.js';
import { printableLines } from '../../printable.js';

/** Size at which waiting lines are written together. Lines also leave at the next tick. */
const WRITE_TOGETHER_BYTES = 4 * KIBIBYTE_BYTES;
const WRITE_AFTER_MS = 200;

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
