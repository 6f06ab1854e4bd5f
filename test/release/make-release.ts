import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MANIFEST_FILE, RELEASE_FORMAT, TOKENS_FILE, tokensFrame } from '#src/release/format.js';
import { openHashedFile } from '#src/release/hashed-file.js';
import { EXHAUSTIVE_POLICY, filterSchema, manifestText, releaseId } from '#src/release/manifest.js';
import type { AttributeValue, FilterField, ReleaseManifest } from '#src/release/release.js';
import { writeTargetTables } from '#src/release/table-writer.js';
import { writeTaxonomy, type Taxon } from '#src/release/taxonomy.js';

export interface GivenRelease {
  readonly fields?: readonly FilterField[];
  readonly targets: readonly {
    readonly id: string;
    readonly sequence: string;
    readonly attributes?: Readonly<Record<string, AttributeValue>>;
  }[];
  readonly taxa?: readonly Taxon[];
  readonly dimension?: number;
  /** Component `column` of residue `row`; default: a pattern that differs everywhere nearby. */
  readonly token?: (row: number, column: number) => number;
}

/** Writes a release of given content below the folder, as the build does, and gives its directory. */
export async function makeRelease(folder: string, content: GivenRelease): Promise<string> {
  const {
    fields = [],
    targets,
    dimension = 32,
    token = (row, column) => ((row * 7 + column * 3) % 11) - 5,
  } = content;
  const directory = join(folder, 'writing');
  mkdirSync(directory, { recursive: true });
  const tables = await writeTargetTables(
    directory,
    fields,
    false,
    (async function* () {
      for (const { id, sequence, attributes = {} } of targets) {
        yield { id, sequence, selfScore: sequence.length * 3, attributes };
      }
    })(),
  );
  const residues = targets.reduce((sum, { sequence }) => sum + sequence.length, 0);
  const frame = tokensFrame(dimension, residues);
  const file = await openHashedFile(join(directory, TOKENS_FILE));
  await file.write(frame.start);
  const values = new Uint8Array(residues * dimension);
  for (let at = 0; at < values.length; at += 1)
    values[at] = token(Math.floor(at / dimension), at % dimension);
  await file.write(values);
  await file.write(frame.end);
  const tokens = {
    ...(await file.finish()),
    values_byte_offset: frame.start.length,
    values_byte_length: frame.valuesByteLength,
  };
  const taxonomy =
    content.taxa === undefined ? {} : { taxonomy: await writeTaxonomy(directory, content.taxa) };
  const manifest: ReleaseManifest = {
    format: RELEASE_FORMAT,
    title: 'test',
    description: '',
    is_simulated: true,
    corpus_snapshot_id: `corpus_${'0'.repeat(64)}`,
    normalization_id: 'gloaming-protein/1',
    encoder: { id: 'none', sha256: '0'.repeat(64), dimension, inverse_step: 173 },
    affine: { multiplier: 100, offset: 10, gap_open: 10, gap_extend: 1 },
    counts: { targets: targets.length, residues },
    filter_schema: filterSchema(fields),
    policies: [EXHAUSTIVE_POLICY],
    files: { ...tables, tokens, ...taxonomy },
  };
  writeFileSync(join(directory, MANIFEST_FILE), manifestText(manifest));
  const finished = join(folder, releaseId(manifest));
  renameSync(directory, finished);
  return finished;
}

/** Writes a folder that has only this manifest, under the id that follows from it, and returns its directory. */
export function writeManifestFolder(folder: string, content: unknown): string {
  const manifest = content as ReleaseManifest;
  const directory = join(folder, releaseId(manifest));
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, MANIFEST_FILE), manifestText(manifest));
  return directory;
}
