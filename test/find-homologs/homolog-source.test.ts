// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOMOLOG_RULES } from '#src/homologs/rules.js';
import { nativeBackend } from '#src/kernels/native.js';
import { openProfileEncoder } from '#src/find-homologs/open.js';
import { openRelease } from '#src/release/open.js';
import type { HomologSource, ReleaseManifest } from '#src/release/release.js';
import type { SearchEngine } from '#src/search/search-types.js';
import { makeRelease } from '../release/make-release.js';
import { fakeEncoder } from '../tools/fake-encoder.js';

/* A release that was searched for relatives is searched again in the same way, or not at all. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-background-'));
const SEQUENCE = 'MKVLAAGIVGLCAKAYLD';
const encoder = fakeEncoder();
let engine: SearchEngine;

beforeAll(async () => {
  const targets = ['a', 'b', 'c'].map((id) => ({ id, sequence: SEQUENCE }));
  const release = await openRelease(await makeRelease(folder, { targets }));
  const backend = nativeBackend();
  engine = { release, encoder, backend, store: await backend.open(release.tokens), threads: 1 };
});
afterAll(() => {
  engine.store.close();
  rmSync(folder, { recursive: true });
});

/** Encodes a query of a release whose manifest names policy `named`; the homolog source has policy `now`. */
function find(named: string | undefined, now: string | undefined): Promise<unknown> {
  const homologSource: HomologSource = {
    method: 'search',
    release_id: 'dbr_1',
    calibration_id: 'calib_1',
    ...(named && { qualification_id: named }),
  };
  const { maxEValue, minCoverage, maxIdentity, profileCount, vectorCount } = HOMOLOG_RULES;
  const manifest = {
    ...engine.release.manifest,
    affine: { ...engine.release.manifest.affine, profile: { scale: 16 } },
    relatives: {
      background: homologSource,
      rules: {
        max_expected: maxEValue,
        min_coverage: minCoverage,
        max_identity: maxIdentity,
        profile_count: profileCount,
        vector_count: vectorCount,
      },
      encoder_dimension: 32,
      profile_share: 0,
      counts: { targets: 1, relatives: 1 },
    },
  } as unknown as ReleaseManifest;
  const source = openProfileEncoder(manifest, encoder, {
    indexesFolder: folder,
    threads: 1,
    openEngine: async () => ({
      ...engine,
      calibration: { id: 'calib_1' } as SearchEngine['calibration'],
      qualification: now === undefined ? undefined : qualifiedAs(now),
    }),
  });
  return source!.encode([SEQUENCE]);
}

/** Stub qualification that throws when a search reads its policy. */
function qualifiedAs(id: string): SearchEngine['qualification'] {
  return {
    id,
    get card(): never {
      throw new Error(`searched by ${id}`);
    },
  };
}

describe('a release that is the homolog source of another release', () => {
  it('is searched for queries by the policy that the manifest names', async () => {
    await expect(find('qual_1', 'qual_1')).rejects.toThrow('searched by qual_1');
  });

  it('is not searched if its policy has changed or was removed', async () => {
    for (const now of ['qual_2', undefined]) {
      await expect(find('qual_1', now)).rejects.toMatchObject({ code: 'relatives_unavailable' });
    }
  });

  it('is searched exhaustively if the manifest names no policy, even if one was qualified later', async () => {
    const outcome = await find(undefined, 'qual_2').catch((cause: Error) => cause.message);
    expect(outcome).not.toContain('searched by');
  });
});
