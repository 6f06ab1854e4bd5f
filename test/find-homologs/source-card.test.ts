// @module-tag fast

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { addHomologSource, findHomologSource } from '#src/find-homologs/homolog-sources.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-source-card-'));
afterAll(() => rmSync(folder, { recursive: true }));

function sourceOf(name: string, file: string, content: string): string {
  const source = join(folder, 'backgrounds', name);
  mkdirSync(source, { recursive: true });
  writeFileSync(join(source, file), content);
  return source;
}

describe('the card of a homolog source', () => {
  it.each([
    ['empty', ''],
    ['cut', '{"format":"gloaming-back'],
    ['null', 'null'],
    ['other', '{"format":"gloaming-background/1","name":"other"}'],
  ])('is a fault that names the file and the remedy where it is damaged: %s', async (name, content) => {
    const source = sourceOf(name, 'background.json', content);
    const fault = {
      name: 'Fault',
      message:
        `The card ${join(source, 'background.json')} of a homolog source is damaged. Put it back from a copy, or ` +
        'delete its folder and make the source again with "gloaming homolog-source add".',
    };
    await expect(findHomologSource(folder, name)).rejects.toMatchObject(fault);
    await expect(addHomologSource(folder, name, ['absent.fasta'])).rejects.toMatchObject(fault);
  });

  it('is missing in a folder with files, which is refused before mmseqs reads anything', async () => {
    const source = sourceOf('half', 'db', 'MKV');
    expect(await findHomologSource(folder, 'half')).toBeUndefined();
    await expect(addHomologSource(folder, 'half', ['absent.fasta'])).rejects.toMatchObject({
      code: 'background_exists',
      message: expect.stringContaining(`The folder ${source} has files and no background.json`),
    });
    expect(readdirSync(source)).toEqual(['db']);
  });
});
