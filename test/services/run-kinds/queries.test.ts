import { describe, expect, it } from 'vitest';
import type { Refusal } from '#src/errors.js';
import { BATCH_FASTA_MAX_CHARACTERS } from '#src/limits.js';
import type { RefusalLocation } from '#src/places.js';
import { readManagedQueries } from '#src/services/run-kinds/queries.js';
import { context } from '../runs/hands.js';

/* Queries of an uploaded file whose bytes the test counts. */

const RECORD = Buffer.from(`>q\n${'ACDEFGHIKLMNPQRSTVWY'.repeat(3_000)}\n`);

function uploaded(recordCount: number) {
  const seen = { recordCount: 0, isClosed: false };
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (; seen.recordCount < recordCount; seen.recordCount += 1) yield RECORD;
  }
  const file = { id: 'fil_1', path: 'long.fasta', bytes: bytes(), close: () => void (seen.isClosed = true) };
  const reading = readManagedQueries({ fasta_url: 'http://127.0.0.1/long.fasta' }, context(), {
    openManagedFile: () => file as never,
  });
  return { reading, seen };
}

describe('the id of a query in FASTA', () => {
  const read = (fasta: string) =>
    readManagedQueries({ fasta }, context(), { openManagedFile: () => expect.fail('no file') });

  it('has at most 256 characters; the rest of its header may be longer', async () => {
    const id = 'i'.repeat(256);
    const { queries } = await read(
      `>${id} ${'description '.repeat(1_000)}\nACDE\n>sp|P69905|HBA_HUMAN X\nACDE`,
    );
    expect(queries.map((query) => query.id)).toEqual([id, 'P69905']);
    const refusal = await read(`>fine\nACDE\n>${'i'.repeat(5_000_000)}\nACDE\n`).catch(
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({ code: 'invalid_queries', details: { fault_count: 1 } });
    const { errors } = (refusal as Refusal).details as { errors: RefusalLocation[] };
    expect(errors[0]).toMatchObject({ location: 'body.fasta', bounds: { query_index: 1 } });
    expect(errors[0]!.message).toBe(
      `fasta:3: The id "${'i'.repeat(40)}…" has 5000000 characters; an id has at most 256 characters and no ` +
        'control characters.',
    );
    expect(JSON.stringify(refusal).length).toBeLessThan(2_000);
  });

  it.each(['\u202e', '\u0007', '\u001b', '\u0085'])(
    'has no control character such as %j',
    async (character) => {
      const refusal = await read(`>a${character}b\nACDE\n`).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: 'invalid_queries' });
      expect((refusal as Refusal).message).toContain('"a\ufffdb…" has control characters');
      expect(JSON.stringify((refusal as Refusal).details)).not.toContain(character);
    },
  );
});

describe('an uploaded FASTA file', () => {
  it('has the bound of FASTA in a request, and is read no further than that', async () => {
    const { reading, seen } = uploaded(10_000);
    await expect(reading).rejects.toMatchObject({
      code: 'invalid_queries',
      message: 'A batch has at most 62914560 characters of FASTA; divide it into several runs.',
      details: { param: 'fasta_url', maximum_fasta_characters: BATCH_FASTA_MAX_CHARACTERS },
    });
    expect(seen.recordCount * RECORD.length).toBeLessThan(BATCH_FASTA_MAX_CHARACTERS + 3 * RECORD.length);
    expect(seen.isClosed).toBe(true);
  });

  it('is read up to that bound', async () => {
    const count = Math.floor(BATCH_FASTA_MAX_CHARACTERS / RECORD.length);
    const { queries, fileIds } = await uploaded(count).reading;
    expect(queries).toHaveLength(count);
    expect(fileIds).toEqual(['fil_1']);
  });
});
