import { printableLines } from '../../printable.js';
import type { CommandContext } from './command.js';

type Output = CommandContext['stdout'];

/** Sequences that commands write themselves: styles of tables, and the redrawn line of a progress bar. */
// eslint-disable-next-line no-control-regex -- the sequences start with the escape character
const OWN_SEQUENCES = /(\u001B\[[012]m|^\r|\u001B\[K$)/;
const unguarded = new WeakMap<object, Output>();

/**
 * The context with guarded standard output and error: text that a command writes contains no control or bidirectional
 * character but line feeds, tabs and OWN_SEQUENCES. Bytes pass unchanged.
 */
export function printedContext(context: CommandContext): CommandContext {
  return { ...context, stdout: guard(context.stdout), stderr: guard(context.stderr) };
}

/** The stream itself, for data of programs: formats that are read again, and the editor of a line. */
export function rawStream(stream: Output): Output {
  return unguarded.get(stream) ?? stream;
}

function guard(stream: Output): Output {
  const write = (text: string | Uint8Array, ...rest: never[]): boolean =>
    stream.write(typeof text === 'string' ? guarded(text) : text, ...rest);
  const printed: Output = new Proxy(stream, {
    get(target, name) {
      if (name === 'write') return write;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  unguarded.set(printed, stream);
  return printed;
}

function guarded(text: string): string {
  return text
    .split(OWN_SEQUENCES)
    .map((part, at) => (at % 2 === 1 ? part : printableLines(part)))
    .join('');
}
