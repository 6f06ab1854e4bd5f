// @module-tag fast

import { describe, expect, it } from 'vitest';
import { filesInput } from '#src/build-release/sources/input-files.js';
import type { SourceProtein } from '#src/build-release/sources/protein-source.js';
import { scratchFiles } from '../scratch-files.js';

const { folder, file } = scratchFiles('family-members');

/** Rows of the family `id`, each with other letters at two columns; the first is the consensus. */
function family(id: string, rows: number): string {
  const letters = 'ACDEFGHIKLMNPQRSTVWY';
  const row = (at: number): string =>
    at === 0
      ? letters
      : letters
          .replace(/^./, letters[at]!)
          .replace(/.$/, letters[at - 1]!)
          .replace('KLM', 'K-M');
  const lines = Array.from({ length: rows }, (_, at) => `${id}_${at} ${row(at)}\n`);
  return `# STOCKHOLM 1.0\n#=GF ID ${id}\n#=GF CL clan of ${id}\n${lines.join('')}//\n`;
}

async function read(members: number | undefined, ...contents: readonly string[]) {
  const input = await filesInput({ proteins: contents.map((content) => file(content)), members });
  const source = await input.open(folder);
  const proteins: SourceProtein[] = [];
  for await (const protein of source.proteins()) proteins.push(protein);
  source.close();
  return { input, proteins, fields: source.fields.map(({ name }) => name) };
}

describe('members of families as targets', () => {
  it('are proteins of their own without gaps, and have the attributes of their family', async () => {
    const { input, proteins, fields } = await read(8, family('one', 4));
    expect(input.hasFamilies).toBe(false);
    expect(fields).toContain('family_id');
    expect(proteins.map(({ id, text }) => [id, text])).toEqual([
      ['one/one_1', 'CCDEFGHIKMNPQRSTVWA'],
      ['one/one_2', 'DCDEFGHIKMNPQRSTVWC'],
      ['one/one_3', 'ECDEFGHIKMNPQRSTVWD'],
    ]);
    for (const { family: homologs, attributes } of proteins) {
      expect(homologs).toBeUndefined();
      expect(attributes).toMatchObject({
        family_id: 'one',
        name: 'one',
        clan: 'clan of one',
        member_count: 4,
      });
    }
  });

  it('are spread over the ids of a family that has more of them', async () => {
    const { proteins } = await read(3, family('many', 16));
    expect(proteins.map(({ id }) => id)).toEqual(['many/many_11', 'many/many_2', 'many/many_7']);
  });

  it('are the consensus where a family has no other member', async () => {
    const { proteins } = await read(8, family('single', 1), family('two', 3));
    expect(proteins.map(({ id }) => id)).toEqual(['single', 'two/two_1', 'two/two_2']);
    expect(proteins[0]).toMatchObject({ text: 'ACDEFGHIKLMNPQRSTVWY', attributes: { family_id: 'single' } });
  });

  it('have short ids, and another digest than the families', async () => {
    const long = family('long', 3).replaceAll('long_1', 'x'.repeat(300));
    const { input, proteins } = await read(8, long);
    expect(proteins.map(({ id }) => id)).toEqual(['long/long_2', 'long/2']);
    const digests = await Promise.all(
      [undefined, 7].map(async (members) => (await read(members, long)).input.digest),
    );
    expect(new Set([input.digest, ...digests]).size).toBe(3);
  });

  it('are refused where no file has families', async () => {
    await expect(read(8, '>protein\nMKTAYIAKQR\n')).rejects.toThrow('no file of the input has families');
  });
});
