import { describe, expect, it } from 'vitest';
import { BATCH_FASTA_MAX_CHARACTERS } from '#src/limits.js';
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
