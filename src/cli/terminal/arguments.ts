import { InvalidArgumentError } from 'commander';

/** Parses a count: a whole number from 1. */
export function positiveInteger(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('a whole number from 1 is expected.');
}
