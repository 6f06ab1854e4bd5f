// @module-tag fast

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findEncoder, listEncoders, listVerifiedEncoders } from '#src/encoder/find.js';
import { ROOT } from '../tools/paths.js';

const packageFolder = ROOT;
const shipped = join(packageFolder, 'indexes', 'encoders', 'baseline-1');

describe('encoders', () => {
  let indexesFolder: string;

  beforeEach(() => {
    indexesFolder = mkdtempSync(join(tmpdir(), 'gloaming-find-'));
  });
  afterEach(() => rmSync(indexesFolder, { recursive: true }));

  it('are found in the package where the user has none of that id', async () => {
    expect(await findEncoder('baseline-1', { indexesFolder, packageFolder })).toBe(shipped);
  });

  it('of the user come before those of the package', async () => {
    const own = join(indexesFolder, 'encoders', 'baseline-1');
    cpSync(shipped, own, { recursive: true });
    expect(await findEncoder('baseline-1', { indexesFolder, packageFolder })).toBe(own);
    const listed = await listEncoders({ indexesFolder, packageFolder });
    expect(listed.filter(({ id }) => id === 'baseline-1')).toMatchObject([
      { directory: own, isShipped: false },
    ]);
  });

  it.each(['missing', '../encoders/baseline-1', '', 'Baseline-1'])(
    'named %j are refused with a list',
    async (id) => {
      await expect(findEncoder(id, { indexesFolder, packageFolder })).rejects.toMatchObject({
        code: 'unknown_encoder',
        message: expect.stringContaining('baseline-1') as string,
      });
    },
  );

  it('without their model are listed with its name, also where a file of no bytes stands for it', async () => {
    const own = join(indexesFolder, 'encoders', 'baseline-1');
    cpSync(shipped, own, { recursive: true });
    const stateOf = async (list: typeof listEncoders) =>
      (await list({ indexesFolder, packageFolder })).find(({ id }) => id === 'baseline-1');
    expect((await stateOf(listEncoders))?.problem).toBeUndefined();
    writeFileSync(join(own, 'model.onnx'), '');
    expect((await stateOf(listEncoders))?.problem).toContain('card.model.file must not be empty');
    rmSync(join(own, 'model.onnx'));
    const listed = await stateOf(listEncoders);
    expect(listed?.problem).toContain('model.onnx is none');
    expect(listed?.card?.id).toBe('baseline-1');
  });

  it('with a changed byte have a problem if their digests are verified', async () => {
    const own = join(indexesFolder, 'encoders', 'baseline-1');
    cpSync(shipped, own, { recursive: true });
    expect(
      (await listVerifiedEncoders({ indexesFolder, packageFolder })).map(({ problem }) => problem),
    ).toEqual(expect.not.arrayContaining([expect.anything()]));
    const model = readFileSync(join(own, 'model.onnx'));
    model[100] ^= 1;
    writeFileSync(join(own, 'model.onnx'), model);
    const listed = await listVerifiedEncoders({ indexesFolder, packageFolder });
    expect(listed.flatMap(({ id, problem }) => (problem === undefined ? [] : [id]))).toEqual(['baseline-1']);
    expect(listed.find(({ id }) => id === 'baseline-1')?.problem).toContain('card.model.sha256 is');
  });

  it('with a broken card are listed with what is wrong', async () => {
    const broken = join(indexesFolder, 'encoders', 'broken');
    mkdirSync(broken, { recursive: true });
    writeFileSync(join(broken, 'card.json'), '{}');
    const listed = await listEncoders({ indexesFolder, packageFolder });
    expect(listed.find(({ id }) => id === 'broken')?.problem).toContain('card.license');
  });
});
