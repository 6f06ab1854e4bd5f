// @module-tag fast

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { afterAll, expect, test } from 'vitest';
import { gpuLines, register } from '#src/cli/admin/doctor.js';
import { CUDA_IS_VERIFIED, gpuReport } from '#src/kernels/cuda.js';
import { ROOT } from '../../tools/paths.js';
import { emulatedAddon } from '../../kernels/emulated-addon.js';

/* The report of `gloaming doctor` about GPUs on a machine without one. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-doctor-'));
const hasGpu = gpuReport().obstacle === undefined;
afterAll(() => rmSync(folder, { recursive: true }));

async function doctor(device: string): Promise<{ report: string; failure: unknown }> {
  const stdout = new PassThrough();
  const environment = {
    GLOAMING_DATA: join(folder, 'data'),
    GLOAMING_INDEXES: join(folder, 'indexes'),
    GLOAMING_DEVICE: device,
  };
  const program = new Command();
  register(program, { environment, stdin: process.stdin, stdout, stderr: process.stderr });
  const failure: unknown = await program
    .parseAsync(['doctor'], { from: 'user' })
    .then(() => undefined)
    .catch((error: unknown) => error);
  stdout.end();
  return { report: await text(stdout), failure };
}

test.skipIf(hasGpu)('doctor names the reason why searches use the CPU and no GPU', async () => {
  const { report, failure } = await doctor('auto');
  expect(failure).toBeUndefined();
  expect(report).toMatch(/^GPU {10}No GPU is used: .+\.$/m);
  if (!CUDA_IS_VERIFIED) expect(report).toMatch(/^CUDA {9}This backend has not been verified on a GPU yet/m);
  expect(report).toMatch(/^maxsim +native /m);
});

test.skipIf(hasGpu)('where the configured device cannot run, doctor says why before it fails', async () => {
  const { report, failure } = await doctor('cuda');
  expect(report).toMatch(/^GPU {10}No GPU is used: .+\.$/m);
  expect(failure).toMatchObject({
    message: expect.stringMatching(/^The device is cuda, but .+\.$/) as string,
  });
});

test('doctor says that the model of an encoder has changed, and the file that differs', async () => {
  const own = join(folder, 'indexes', 'encoders', 'baseline-1');
  cpSync(join(ROOT, 'indexes', 'encoders', 'baseline-1'), own, { recursive: true });
  const model = readFileSync(join(own, 'model.onnx'));
  model[100] ^= 1;
  writeFileSync(join(own, 'model.onnx'), model);
  const { report } = await doctor('cpu');
  expect(report).toMatch(/^baseline-1 .*card\.model\.sha256 is [0-9a-f]+, but model\.onnx has /m);
  rmSync(own, { recursive: true });
});

test('doctor names each usable GPU, and the reason why another GPU is unusable', () => {
  expect(gpuLines('cuda', emulatedAddon().gpus()).slice(0, 4)).toEqual([
    'GPU 0        Emulated (9.0), 64.0 GiB, 32.0 free, driver for CUDA 13.0, hopper kernels',
    'GPU 1        Old has compute capability 7.0, 8.0 is needed; it is not used',
    'GPU          The device setting is cuda.',
    "GPU          The server's /metrics report its memory (gloaming_gpu_resident_…).",
  ]);
});
