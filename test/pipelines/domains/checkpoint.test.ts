// @module-tag fast

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { AnnotatedProtein } from '#src/domains/domain.js';
import { addToCheckpoint, openCheckpoint, withoutDone } from '#src/pipelines/domains/checkpoint.js';
import type { NamedQuery } from '#src/search/search-types.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-checkpoint-'));
afterAll(() => rmSync(folder, { recursive: true }));

const QUERIES: readonly NamedQuery[] = ['MKV', 'MKVL', 'MKVLA'].map((sequence, at) => ({
  id: `P${at}`,
  sequence,
  normalizationId: 'test',
}));
const PROTEINS: readonly AnnotatedProtein[] = QUERIES.map(({ id, sequence }) => ({
  id,
  length: sequence.length,
  domains: [],
}));

/** Writes a checkpoint of these proteins. */
async function checkpointOf(name: string, proteins: readonly AnnotatedProtein[]): Promise<string> {
  const path = join(folder, name);
  await openCheckpoint(path, 'same');
  await addToCheckpoint(path, proteins);
  return path;
}

async function resume(path: string): Promise<readonly string[]> {
  async function* input(): AsyncGenerator<NamedQuery> {
    yield* QUERIES;
  }
  const done = await openCheckpoint(path, 'same');
  const left: string[] = [];
  for await (const { id } of withoutDone(input(), done, path)) left.push(id);
  return left;
}

describe('the checkpoint of an annotation', () => {
  it('leaves the proteins of the input that it does not have', async () => {
    expect(await resume(await checkpointOf('none', []))).toEqual(['P0', 'P1', 'P2']);
    expect(await resume(await checkpointOf('two', PROTEINS.slice(0, 2)))).toEqual(['P2']);
    expect(await resume(await checkpointOf('all', PROTEINS))).toEqual([]);
  });

  it.each([
    ['a protein twice', [0, 0], 'line 3 is not the protein P1 of the input'],
    ['proteins in another order', [1, 0], 'line 2 is not the protein P0 of the input'],
    ['more proteins than the input', [0, 1, 2, 2], 'line 5 is beyond the last protein of the input'],
  ])('with %s is refused', async (name, places, message) => {
    const path = await checkpointOf(
      name,
      places.map((place) => PROTEINS[place]),
    );
    await expect(resume(path)).rejects.toThrow(
      `${path} is damaged: ${message}. Delete it and run the same command again, which begins anew.`,
    );
  });

  it('with a protein of another length is refused', async () => {
    const path = await checkpointOf('length', [{ ...PROTEINS[0], length: 9 }]);
    await expect(resume(path)).rejects.toThrow('line 2 is not the protein P0 of the input');
  });

  it.each(['', '\0\0', 'null', '{"id":"P1","length":4}', '{"id":"P1","len'])(
    'with the line %j is refused in one sentence and stays as it is',
    async (line) => {
      const path = await checkpointOf('line', PROTEINS);
      const lines = readFileSync(path, 'utf8').split('\n');
      const text = [...lines.slice(0, 2), line, ...lines.slice(3)].join('\n');
      writeFileSync(path, text);
      await expect(resume(path)).rejects.toMatchObject({
        name: 'Fault',
        message: expect.stringContaining(`${path} is damaged: line 3 is no protein. Delete it`),
      });
      expect(readFileSync(path, 'utf8')).toBe(text);
      rmSync(path);
    },
  );

  it('loses only the line that a killed call wrote in part', async () => {
    const path = await checkpointOf('torn', PROTEINS.slice(0, 1));
    writeFileSync(path, `${readFileSync(path, 'utf8')}{"id":"P1"`);
    expect(await resume(path)).toEqual(['P1', 'P2']);
  });

  it('of other options is refused and stays as it is, if it has proteins', async () => {
    const path = await checkpointOf('options', PROTEINS.slice(0, 1));
    const text = readFileSync(path, 'utf8');
    await expect(openCheckpoint(path, 'other')).rejects.toMatchObject({
      code: 'batch_running',
      message:
        `${path} is of an unfinished annotation of other proteins, by another database or with other options. ` +
        'Repeat that command to its end, name another --output, or delete the file.',
    });
    expect(readFileSync(path, 'utf8')).toBe(text);
    const begun = await checkpointOf('begun', []);
    expect(await openCheckpoint(begun, 'other')).toEqual([]);
    expect(readFileSync(begun, 'utf8')).toBe('{"identity":"other"}\n');
  });
});
