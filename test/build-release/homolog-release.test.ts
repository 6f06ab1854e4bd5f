import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readBuildSources } from '#src/build-release/build-folder.js';
import type { BuildOptions } from '#src/build-release/build-options.js';
import { buildRelease } from '#src/build-release/release.js';
import { filesInput } from '#src/build-release/sources/input-files.js';
import type { HomologFinder } from '#src/homologs/finder.js';
import { HOMOLOG_RULES } from '#src/homologs/rules.js';
import { selectHomologs } from '#src/homologs/select.js';
import { profileTokenForm } from '#src/homologs/token-form.js';
import { PROFILE_SCALE } from '#src/release/profile-affine.js';
import { withSmallScores } from '../tools/fake-encoder.js';
import { contextEncoder } from '../tools/homologs.js';

/* A build whose homologs are found in another release needs that release to its end. */

const indexesFolder = mkdtempSync(join(tmpdir(), 'gloaming-homolog-release-'));
afterAll(() => rmSync(indexesFolder, { recursive: true }));
const encoder = withSmallScores(contextEncoder());
const fasta = join(indexesFolder, 'proteins.fasta');
writeFileSync(fasta, '>a\nMKVLAAGIVGLCAKAYLD\n>b\nACDEFGHIKLMNPQRSTVWY\n');

async function build(slug: string, options: Pick<BuildOptions, 'buildHomologs'> = {}) {
  const input = await filesInput({ proteins: [fasta] });
  const { release } = await buildRelease({ indexesFolder, slug, encoder, input, ...options });
  return release;
}

describe('a build with homologs of another release', () => {
  it('names the release in its folder, and puts nothing in place once the release is deleted', async () => {
    const source = await build('source');
    const away = `${source.directory}.away`;
    const database = join(indexesFolder, 'found');
    const sources: (readonly string[])[] = [];
    const finder: HomologFinder = {
      batchProteins: 64,
      async find(queries) {
        const [work] = readdirSync(database);
        sources.push(await readBuildSources(join(database, work)));
        renameSync(source.directory, away);
        return queries.map(({ sequence }) => {
          const homolog = { id: 'h', residues: sequence, eValue: 1e-9, identity: 0.8, coverage: 1, round: 1 };
          const place = { start: 0, residueStart: 0, cigar: `${sequence.length}M` };
          return selectHomologs({ sequence, homologs: [{ ...homolog, ...place }] }, HOMOLOG_RULES);
        });
      },
    };
    const buildHomologs = {
      finder,
      rules: HOMOLOG_RULES,
      form: profileTokenForm(encoder.card, PROFILE_SCALE),
      homologSource: { method: 'search', release_id: source.id, calibration_id: 'calib_1' },
    } as const;
    const refusal = {
      code: 'background_not_found',
      message: expect.stringContaining(
        `The release ${source.id}, which this build reads, was deleted or damaged`,
      ),
    };
    await expect(build('found', { buildHomologs })).rejects.toMatchObject(refusal);
    expect(sources).toEqual([[source.id]]);
    expect(readdirSync(database)).toEqual([expect.stringMatching(/^\.building-/)]);
    // A repeated call finds out before its work.
    await expect(build('found', { buildHomologs })).rejects.toMatchObject(refusal);
    renameSync(away, source.directory);
    const { manifest } = await build('found', { buildHomologs });
    expect(manifest.relatives?.background).toMatchObject({ release_id: source.id });
    expect(sources).toHaveLength(1);
  });
});
