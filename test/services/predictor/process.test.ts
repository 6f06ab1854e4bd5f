// @module-tag fast

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withoutDescriptors } from './without-descriptors.js';
import { LOG_FILE, startPredictor } from '#src/services/predictor/process.js';

/* One predictor process. Its output is tested with the runs that use it. */

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-predictor-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function run(script: string) {
  const predictor = await startPredictor(
    {
      command: process.execPath,
      args: ['--eval', script],
      environment: {},
      timeoutMs: 30_000,
      output: { maxBytes: 1_000, maxFiles: 1 },
      concurrency: 1,
    },
    folder,
  );
  return predictor.ended;
}

describe('a predictor', () => {
  it('ends with its output in its log', async () => {
    const end = await run("console.log('one'); console.error('two'); process.exitCode = 3");
    expect(end).toMatchObject({ code: 3, signal: null });
    expect(end.reason).toBeUndefined();
    expect(readFileSync(join(folder, LOG_FILE), 'utf8').split('\n').sort()).toEqual(['', 'one', 'two']);
  });

  it('fails without ending the server if no file descriptor is left', () => {
    const settings = { command: '/bin/true', args: [], environment: {}, timeoutMs: 1_000, output: {} };
    const call = `
      const predictor = await exports.startPredictor(${JSON.stringify(settings)}, ${JSON.stringify(folder)});
      return predictor.ended;
    `;
    const outcome = withoutDescriptors(import.meta.resolve('#src/services/predictor/process.js'), call);
    expect(outcome).toMatchObject({ code: null, error: expect.stringContaining('EMFILE') as string });
  });

  it('ends where its log cannot be written, too', async () => {
    mkdirSync(join(folder, LOG_FILE));
    const end = await run("console.log('one'); process.exitCode = 3");
    expect(end).toMatchObject({ code: 3, signal: null });
    expect(end.reason).toBeUndefined();
  });
});
