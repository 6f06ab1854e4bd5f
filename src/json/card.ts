import { readFile } from 'node:fs/promises';
import { Fault } from '../errors.js';

/** A card that was read, and its text, which a caller may compare with the only valid one. */
export interface CardFile<Card> {
  readonly card: Card;
  readonly text: string;
}

/**
 * Reads a card in JSON. Returns undefined if there is no such file.
 * @param kind  noun phrase of the card in messages, such as "a policy card"
 * Errors  Fault if the file cannot be read or is not JSON
 */
export async function readCardFile<Card>(path: string, kind: string): Promise<CardFile<Card> | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Fault(`${path} cannot be read.`, { cause });
  }
  try {
    return { card: JSON.parse(text) as Card, text };
  } catch (cause) {
    throw new Fault(`${path} is not ${kind}.`, { cause });
  }
}

/** The fault of a card whose format this version does not read. */
export function unknownFormat(path: string, format: unknown, supported: string): Fault {
  return new Fault(`${path} has format ${JSON.stringify(format)}; this version reads ${supported}.`);
}
