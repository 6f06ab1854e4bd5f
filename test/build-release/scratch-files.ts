import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Where the inputs of a file of tests lie, until all of them are done. */
export interface ScratchFiles {
  readonly folder: string;
  /** Writes a file of a name that no other has, and gives its path. */
  readonly file: (content: string | Buffer) => string;
}

export function scratchFiles(name: string): ScratchFiles {
  const folder = mkdtempSync(join(tmpdir(), `gloaming-${name}-`));
  afterAll(() => rmSync(folder, { recursive: true }));
  let files = 0;
  return {
    folder,
    file(content) {
      files += 1;
      const path = join(folder, `given-${files}`);
      writeFileSync(path, content);
      return path;
    },
  };
}
