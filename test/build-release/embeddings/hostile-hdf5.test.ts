// @module-tag long

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { ROOT } from '../../tools/paths.js';
import { repetitions } from '../../tools/suite/repetitions.js';

/*
 * Malformed HDF5: every file is read or refused in a sentence, in bounded time and memory. GLOAMING_HDF5_MUTATIONS=200
 * runs the long version; GLOAMING_SEED repeats one.
 */

const MUTATIONS = repetitions('GLOAMING_HDF5_MUTATIONS', 24, 200);
const seed = Number(process.env.GLOAMING_SEED ?? Math.floor(Math.random() * 2 ** 31));
const random = seededRandom(seed);
const READER = fileURLToPath(new URL('read-hdf5.mjs', import.meta.url));
const VALID = readFileSync(join(ROOT, 'test', 'fixtures', 'embeddings', 'per-residue.h5'));
const IDS = 'P00001,P00002,P00003,P00004';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-hdf5-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function file(bytes: Uint8Array): string {
  const path = join(folder, `${(files += 1)}.h5`);
  writeFileSync(path, bytes);
  return path;
}

/** Outcome of each file. A reader that a file ends is started again after it. */
function outcomesOf(paths: readonly string[]): readonly string[] {
  const outcomes: string[] = [];
  while (outcomes.length < paths.length) {
    const argv = [READER, IDS, ...paths.slice(outcomes.length)];
    const { stdout, signal, status, stderr } = spawnSync(process.execPath, argv, {
      encoding: 'utf8',
      timeout: 60_000,
      cwd: folder,
    });
    const lines = stdout.split('\n').filter(Boolean);
    outcomes.push(...lines);
    if (lines.length < argv.length - 2) outcomes.push(`ended by ${signal ?? status}: ${stderr.slice(-300)}`);
  }
  return outcomes;
}

function mutate(): Buffer {
  const changed = Buffer.from(VALID);
  const kind = random.below(4);
  const start = random.below(changed.length);
  if (kind === 0) return changed.subarray(0, start);
  if (kind === 1) changed.writeUInt8(random.below(256), start);
  else if (kind === 2) changed.fill(0xff, start, start + 8);
  else
    for (let at = start; at < Math.min(changed.length, start + 64); at += 1) changed[at] = random.below(256);
  return changed;
}

const isGood = (outcome: string): boolean => outcome === 'read' || outcome === 'refused';

describe('a malformed HDF5 file', () => {
  it('is the valid one before it is changed', () => expect(outcomesOf([file(VALID)])).toEqual(['read']));

  it(`is read or refused, whatever is changed in it (seed ${seed})`, { timeout: 600_000 }, () => {
    const outcomes = outcomesOf(Array.from({ length: MUTATIONS }, () => file(mutate())));
    expect(outcomes.filter((outcome) => !isGood(outcome))).toEqual([]);
    process.stdout.write(
      `${outcomes.filter((outcome) => outcome === 'refused').length} of ${MUTATIONS} refused\n`,
    );
  });

  it('is read or refused, wherever it ends', { timeout: 120_000 }, () => {
    const cuts = Array.from({ length: 12 }, (_, at) => file(VALID.subarray(0, (VALID.length * at) / 12)));
    expect(outcomesOf(cuts).filter((outcome) => !isGood(outcome))).toEqual([]);
  });

  it('follows no link to another file, and refuses shapes and chunks that no protein has', async () => {
    const library = await import('h5wasm/node');
    await library.ready;
    const other = file(VALID);
    const path = join(folder, 'links.h5');
    const links = new library.File(path, 'w');
    links.create_external_link(other, '/P00001', 'P00001');
    links.create_soft_link('/P00003', 'P00002');
    const create = (name: string, shape: number[], chunks: number[]): void =>
      void links.create_dataset({
        name,
        shape,
        chunks,
        maxshape: shape,
        dtype: '<f4',
        data: new Float32Array(1),
      } as never);
    let created = 0;
    for (const [name, shape, chunks] of [
      ['P00003', [100_000, 32], [1, 32]],
      ['P00004', [4, 1_000_000], [1, 32]],
    ] as const) {
      try {
        create(name, [...shape], [...chunks]);
        created += 1;
      } catch {
        // This version of the library requires all data.
      }
    }
    links.close();
    const outcomes = outcomesOf([path]);
    expect(outcomes).toEqual([created === 0 ? 'read' : 'refused']);
    const reading = spawnSync(process.execPath, [READER, 'P00001,P00002', path], { encoding: 'utf8' });
    expect(reading.stdout).toBe('read\n');
  });
});
