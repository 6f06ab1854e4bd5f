import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrateRelease } from '#src/fit-significance/fit-significance.js';
import { transferCalibration, type MeasuredRelease } from '#src/fit-significance/transfer.js';
import { calibrationDirectory, calibrationId } from '#src/significance/card.js';
import { openCalibration } from '#src/significance/sidecar.js';
import { verifyEvidence } from '#src/recall/evidence.js';
import { nativeBackend } from '#src/kernels/native.js';
import { seededRandom } from '#src/random.js';
import { manifestText, releaseId } from '#src/release/manifest.js';
import { openRelease } from '#src/release/open.js';
import type { Release, ReleaseManifest } from '#src/release/release.js';
import { makeRelease } from '../release/make-release.js';
import { fakeEncoder } from '../tools/fake-encoder.js';
import { NO_HOMOLOGS } from '../tools/homologs.js';

/* Releases with random tokens: one calibrated, the others with the same files under another manifest. */

const PROTEINS = 150;
const folder = mkdtempSync(join(tmpdir(), 'gloaming-carry-'));
const backend = nativeBackend();
let measured: Release;

beforeAll(async () => {
  const random = seededRandom(11);
  const targets = Array.from({ length: PROTEINS }, (_, at) => ({
    id: `p${at}`,
    sequence: 'A'.repeat(60 + random.below(60)),
  }));
  measured = await openRelease(await makeRelease(folder, { targets, token: () => random.below(79) - 39 }));
  await calibrate(measured);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function calibrate(release: Release) {
  const store = await backend.open(release.tokens);
  try {
    return await calibrateRelease({ release, backend, store, encoder: fakeEncoder(), threads: 1 });
  } finally {
    store.close();
  }
}

/** The files of the calibrated release under another manifest. */
function copyWith(changes: Partial<ReleaseManifest>): MeasuredRelease {
  const manifest = { ...measured.manifest, ...changes };
  const id = releaseId(manifest);
  const writing = join(folder, 'copying');
  cpSync(measured.directory, writing, { recursive: true });
  writeFileSync(join(writing, 'manifest.json'), manifestText(manifest));
  const directory = join(dirname(measured.directory), id);
  rmSync(directory, { recursive: true, force: true });
  rmSync(calibrationDirectory(directory), { recursive: true, force: true });
  renameSync(writing, directory);
  return { id, directory, manifest };
}

describe('a calibration', () => {
  it('is transferred to a release with the same tokens, and equals a new calibration of it', async () => {
    const annotated = copyWith({ title: 'Annotated', corpus_snapshot_id: 'corpus_other' });
    const transferred = await transferCalibration(annotated, [measured]);
    expect(transferred?.calibration.release_id).toBe(annotated.id);
    expect(await verifyEvidence(annotated.directory)).toEqual([]);
    const of = { id: annotated.id, targetCount: PROTEINS };
    expect((await openCalibration(annotated.directory, of))?.id).toBe(
      calibrationId(transferred!.calibration),
    );
    const files = (): unknown => {
      const at = calibrationDirectory(annotated.directory);
      return readdirSync(at)
        .sort()
        .map((name) => [name, readFileSync(join(at, name), 'base64')]);
    };
    const before = files();
    await calibrate(await openRelease(annotated.directory));
    expect(files()).toEqual(before);
  });

  const { tokens, targets } = { tokens: 'tokens' as const, targets: 'targets' as const };
  it.each([tokens, targets])('is not transferred if %s differ', async (name) => {
    const { files } = measured.manifest;
    const other = copyWith({ files: { ...files, [name]: { ...files[name], sha256: 'f'.repeat(64) } } });
    expect(await transferCalibration(other, [measured])).toBeUndefined();
  });

  it('is not transferred if affine parameters differ', async () => {
    const { affine } = measured.manifest;
    const other = copyWith({ affine: { ...affine, gap_open: affine.gap_open + 1 } });
    expect(await transferCalibration(other, [measured])).toBeUndefined();
  });

  it('is not transferred if the homolog source differs', async () => {
    expect(await transferCalibration(copyWith({ relatives: NO_HOMOLOGS }), [measured])).toBeUndefined();
  });

  it('is not transferred if it is damaged', async () => {
    const other = copyWith({ title: 'Other' });
    const copy = copyWith({ title: 'Damaged' });
    cpSync(calibrationDirectory(measured.directory), calibrationDirectory(copy.directory), {
      recursive: true,
    });
    writeFileSync(join(calibrationDirectory(copy.directory), 'basis.arrow'), 'damaged');
    expect(await transferCalibration(other, [copy])).toBeUndefined();
    expect(await transferCalibration(other, [copy, measured])).toBeDefined();
  });
});
