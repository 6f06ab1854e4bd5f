import { InvalidArgumentError } from 'commander';
import { Refusal } from '../../errors.js';

/** Parses the value of an option that counts something. 1.. Errors  InvalidArgumentError */
export function positiveInteger(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('Expected a whole number from 1.');
}

/** Parses the value of an option that is a finite number above 0. Errors  InvalidArgumentError */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value > 0 && value < Infinity) return value;
  throw new InvalidArgumentError('Expected a number above 0.');
}

/** Returns a parser of the value of an option. Errors  InvalidArgumentError, of the parser */
export function integerBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}

/** Reads the value of an option. Range  1..2³²−1. Errors  Refusal `invalid_option` */
export function readCount(option: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value < 2 ** 32) return value;
  throw new Refusal('invalid_option', `${option} expects a whole number from 1 on; it is ${text}.`);
}
