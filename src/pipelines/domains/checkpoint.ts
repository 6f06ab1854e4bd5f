import { appendFile, readFile, truncate, writeFile } from 'node:fs/promises';
import type { AnnotatedProtein } from '../../domains/domain.js';
import { Fault, ifAbsent, Refusal } from '../../errors.js';
import type { NamedQuery } from '../../search/search-types.js';

/*
 * The checkpoint of an annotation: a line with the identity of proteins, release and options, and then a line for each
 * annotated protein, in the order of the input.
 */

/**
 * Returns the annotated proteins of an interrupted call, and cuts off a line that it wrote in part. Writes the first
 * line of a new checkpoint.
 * Errors  Refusal `batch_running` where the annotated proteins have another identity; Fault where a line is damaged;
 *         errors of the file system
 */
export async function openCheckpoint(path: string, identity: string): Promise<readonly AnnotatedProtein[]> {
  const head = `${JSON.stringify({ identity })}\n`;
  const text = await readFile(path, 'utf8').catch(ifAbsent(''));
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (!whole.startsWith(head)) {
    const hasProteins = whole.indexOf('\n') < whole.length - 1;
    if (hasProteins) throw refuseOther(path);
    await writeFile(path, head);
    return [];
  }
  await truncate(path, Buffer.byteLength(whole));
  const lines = whole.slice(head.length).split('\n').slice(0, -1);
  return lines.map((line, place) => proteinIn(line) ?? refuseDamaged(path, place, 'is no protein'));
}

/** Adds annotated proteins, which are on the disk when the promise resolves. Errors  those of the file system */
export async function addToCheckpoint(path: string, proteins: readonly AnnotatedProtein[]): Promise<void> {
  const lines = proteins.map((protein) => `${JSON.stringify(protein)}\n`);
  await appendFile(path, lines.join(''), { flush: true });
}

/**
 * Yields the proteins of the input that a checkpoint does not have.
 * @param done  proteins of the checkpoint, which are the first ones of the input
 * Errors  Fault where a protein of the checkpoint is not the protein of the input at its place
 */
export async function* withoutDone(
  queries: AsyncIterable<NamedQuery>,
  done: readonly AnnotatedProtein[],
  path: string,
): AsyncGenerator<NamedQuery> {
  let place = 0;
  for await (const query of queries) {
    if (place >= done.length) yield query;
    else if (!isOf(query, done[place]))
      refuseDamaged(path, place, `is not the protein ${query.id} of the input`);
    place += 1;
  }
  if (place < done.length) refuseDamaged(path, place, 'is beyond the last protein of the input');
}

function isOf({ id, sequence }: NamedQuery, protein: AnnotatedProtein): boolean {
  return protein.id === id && protein.length === sequence.length;
}

function proteinIn(line: string): AnnotatedProtein | undefined {
  try {
    const protein = JSON.parse(line) as Partial<AnnotatedProtein> | null;
    return Array.isArray(protein?.domains) ? (protein as AnnotatedProtein) : undefined;
  } catch {
    return undefined;
  }
}

/** @param place  of the protein, from 0 */
function refuseDamaged(path: string, place: number, why: string): never {
  throw new Fault(
    `${path} is damaged: line ${place + 2} ${why}. Delete it and run the same command again, which begins anew.`,
  );
}

function refuseOther(path: string): Refusal {
  return new Refusal(
    'batch_running',
    `${path} is of an unfinished annotation of other proteins, by another database or with other options. ` +
      'Repeat that command to its end, name another --output, or delete the file.',
  );
}
