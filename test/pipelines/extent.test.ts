import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '#src/config.js';
import { estimateBuild } from '#src/pipelines/estimate.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-extent-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Proteins of 30 to 129 residues, the shortest first. */
const lengths = Array.from({ length: 3_000 }, (_, at) => 30 + Math.floor(at / 30));
const fasta = lengths.map((length, at) => `>p${at}\n${'MKVLAAGIDE'.repeat(13).slice(0, length)}\n`).join('');

describe('the estimate of a build', () => {
  it('counts all proteins, also of a compressed file that is sorted by length', async () => {
    const config = loadConfig({
      GLOAMING_INDEXES: join(folder, 'indexes'),
      GLOAMING_DATA: join(folder, 'data'),
      GLOAMING_ENCODER: 'baseline-1',
    });
    for (const [name, bytes] of [
      ['sorted.fasta', fasta],
      ['sorted.fasta.gz', gzipSync(fasta)],
    ] as const) {
      writeFileSync(join(folder, name), bytes);
      const options = { input: { paths: [join(folder, name)] }, calibrates: true, qualifies: false } as const;
      const { extent, isExact } = await estimateBuild(config, { ...options, policy: 'sampled' }, {});
      expect(extent, name).toMatchObject({
        proteins: lengths.length,
        residues: lengths.reduce((sum, length) => sum + length, 0),
      });
      expect(isExact, name).toBe(true);
    }
  }, 60_000);
});
