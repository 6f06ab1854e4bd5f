// @module-tag fast

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canonicalSha256 } from '#src/canonical.js';
import { readEncoderCard } from '#src/encoder/card.js';
import { findEncoder } from '#src/encoder/find.js';
import { findEncoderVersion, storeEncoder } from '#src/encoder/encoder-store.js';
import { loadEncoder } from '#src/encoder/load.js';
import { ROOT } from '../tools/paths.js';

const root = ROOT;
let folder: string;
let folders: { indexesFolder: string; packageFolder: string };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-keep-'));
  folders = { indexesFolder: join(folder, 'indexes'), packageFolder: join(folder, 'package') };
  const shipped = join(folders.packageFolder, 'indexes', 'encoders', 'baseline-1');
  mkdirSync(dirname(shipped), { recursive: true });
  cpSync(join(root, 'indexes', 'encoders', 'baseline-1'), shipped, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('a stored encoder', () => {
  it('is found by its digest and works after the package has brought another version', async () => {
    const shipped = await findEncoder('baseline-1', folders);
    const digest = canonicalSha256(await readEncoderCard(shipped));
    await storeEncoder(shipped, folders);
    await storeEncoder(shipped, folders);
    expect(await findEncoderVersion('baseline-1', digest, folders)).toBe(shipped);

    const card = JSON.parse(readFileSync(join(shipped, 'card.json'), 'utf8')) as object;
    writeFileSync(join(shipped, 'card.json'), JSON.stringify({ ...card, name: 'A newer version' }));
    const version = await findEncoderVersion('baseline-1', digest, folders);
    expect(version).not.toBe(shipped);
    const encoder = await loadEncoder(version, { threads: 1 });
    expect(encoder.digest).toBe(digest);
    expect((await encoder.encode(['MKTAYIAKQR']))[0].length).toBe(10);
    await encoder.close();
  });

  it('that is missing is an error with a remedy', async () => {
    await expect(findEncoderVersion('baseline-1', 'f'.repeat(64), folders)).rejects.toThrow(
      /build the database anew/,
    );
  });
});
