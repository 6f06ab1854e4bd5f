import { statSync } from 'node:fs';
import { Refusal } from '../../errors.js';

/**
 * Refuses to write a result over the file that it is computed from.
 * Errors  Refusal `invalid_option`
 */
export function refuseOverwrite(input: string, output: string | undefined): void {
  if (output === undefined || input === '-') return;
  const [read, written] = [input, output].map((path) => statSync(path, { throwIfNoEntry: false }));
  if (read === undefined || written === undefined || !written.isFile()) return;
  if (read.dev !== written.dev || read.ino !== written.ino) return;
  throw new Refusal('invalid_option', `${output} is the input. Name another file for the output.`);
}
