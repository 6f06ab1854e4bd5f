import { InvalidArgumentError } from 'commander';

/** The value of an option that counts something. */
export function positiveInteger(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('a whole number from 1 is expected.');
}
