import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ExportThread } from '#src/services/export/export-thread.js';

/* The thread of one export. Its output is tested with the runs that use it, and its digests with its memory. */

const rows = Array.from({ length: 10 }, (_, index) => ({
  rank: index + 1,
  target: { id: `T${index}`, sequence: 'MKV', attributes: {} },
  measurements: { maxsim: { bidirectional: index }, affine: { raw_score: 10 - index } },
  significance: { measurements: {} },
}));
const packed = gzipSync(JSON.stringify(rows));
const startThread = (): ExportThread =>
  new ExportThread({
    options: { format: 'fasta' },
    search: { database: 'demo', targetCount: 10, residueCount: 30 },
    query: { index: 0, id: 'query' },
  });

describe('the thread of an export', () => {
  it('writes the requested rows, and returns the number of rows in a block', async () => {
    const thread = startThread();
    const first = await thread.write({ packed, start: 2, end: 4 });
    expect([first.rowCount, first.candidateCount, first.recordCount]).toEqual([2, 2, 2]);
    const behind = await thread.write({ packed, start: 10, end: 20 });
    expect(behind.rowCount).toBe(0);
    const last = await thread.write(null);
    expect(last.recordCount).toBe(2);
    const file = Buffer.concat([first.bytes, behind.bytes, last.bytes]).toString();
    expect(file.match(/^>\S+/gm)).toEqual(['>T2', '>T3']);
    await thread.close();
  });

  it('rejects if a block is damaged or the thread was closed', async () => {
    const thread = startThread();
    await expect(thread.write({ packed: packed.subarray(0, 40), start: 0, end: 1 })).rejects.toThrow(
      'An export cannot be written',
    );
    const pending = thread.write({ packed, start: 0, end: 1 });
    const failing = expect(pending).rejects.toThrow('has ended');
    await thread.close();
    await failing;
    await expect(thread.write(null)).rejects.toThrow('has ended');
  });
});
