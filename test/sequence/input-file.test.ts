// @module-tag fast

import { describe, expect, it } from 'vitest';
import { readInputFile } from '#src/sequence/input-file.js';

async function refusalOf(path: string): Promise<unknown> {
  try {
    await readInputFile(path).next();
    return undefined;
  } catch (cause) {
    return cause;
  }
}

describe('a file that does not exist', () => {
  it('is taken for a sequence if its name looks like one, also if the name is too long', async () => {
    const hint =
      'does not exist, and its name looks like a protein sequence: write that to a FASTA file, or to standard input ' +
      'as FASTA and name - as the file.';
    expect(await refusalOf('MKTAYIAKQR*')).toMatchObject({
      code: 'file_not_found',
      message: `The file MKTAYIAKQR* ${hint}`,
    });
    expect(await refusalOf('MKTAYIAKQR'.repeat(40))).toMatchObject({
      code: 'file_not_found',
      message: `The file MKTAYIAKQRMKTAYIAKQR… ${hint}`,
    });
  });

  it('is named as a file otherwise', async () => {
    for (const path of ['MKTAYI', '/absent/MKTAYIAKQR', 'mktayiakqr', 'MKTAYIAKQR.fasta'])
      expect(await refusalOf(path)).toMatchObject({ message: `${path} does not exist.` });
  });
});
