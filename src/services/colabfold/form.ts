import { Refusal } from '../../errors.js';
import { COLABFOLD_NAME_MAX_CHARACTERS, COLABFOLD_QUERIES_MAX_COUNT } from '../../limits.js';
import { readFasta } from '../../sequence/fasta.js';
import { normaliseProtein } from '../../sequence/protein.js';

/** A normalised query with the client's name for it. */
export interface NamedQuery {
  readonly name: string;
  readonly sequence: string;
}

/** Clients name their first query so. A query without a header gets this name. */
const FIRST_NAME = '101';

/**
 * Reads the queries of a form's `q`: FASTA, or one bare sequence.
 * Errors  Refusal `invalid_queries` and those of normaliseProtein
 */
export async function readFormQueries(q: string): Promise<readonly NamedQuery[]> {
  const text = q.trimStart().startsWith('>') ? q : `>${FIRST_NAME}\n${q}`;
  const bytes = (async function* () {
    yield Buffer.from(text);
  })();
  const queries: NamedQuery[] = [];
  try {
    for await (const { header, text: letters } of readFasta({ file: 'q', bytes })) {
      if (queries.length === COLABFOLD_QUERIES_MAX_COUNT) throw tooMany();
      queries.push({ name: readName(header.trim()), sequence: normaliseProtein(letters).sequence });
    }
  } catch (error) {
    if (!(error instanceof Refusal) || error.code.startsWith('sequence_')) throw error;
    throw new Refusal('invalid_queries', error.message);
  }
  return queries;
}

function readName(name: string): string {
  if (name.length <= COLABFOLD_NAME_MAX_CHARACTERS && !name.includes('\0')) return name;
  throw new Refusal(
    'invalid_queries',
    `A header has at most ${COLABFOLD_NAME_MAX_CHARACTERS} characters, none of them NUL.`,
  );
}

function tooMany(): Refusal {
  return new Refusal(
    'invalid_queries',
    `A ticket has at most ${COLABFOLD_QUERIES_MAX_COUNT} different sequences; send the others in further ones.`,
  );
}
