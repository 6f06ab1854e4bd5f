import { join } from 'node:path';
import { pino } from 'pino';
import { readManifest } from '#src/release/manifest.js';
import { makeRelease } from '../release/make-release.js';
import { startSmallAppliance, type SmallAppliance } from './small-appliance.js';
import { createCredential, type TestCredential } from './sql-client.js';

/** Two organizations that share the database `demo`. Only the second one sees `hidden`. */
export interface SqlScene {
  readonly small: SmallAppliance;
  readonly url: string;
  readonly one: TestCredential;
  readonly two: TestCredential;
  /** The release of `hidden`. */
  readonly hidden: { readonly id: string; readonly directory: string };
  /** Parsed log lines. */
  readonly logged: readonly Readonly<Record<string, unknown>>[];
  close(): Promise<void>;
}

/** Texts that occur in `hidden` only. */
export const HIDDEN_WORD = 'XENOPROTEIN';

export async function startSqlScene(settings: Readonly<Record<string, unknown>> = {}): Promise<SqlScene> {
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const small = await startSmallAppliance(settings, log);
  const hidden = await addHidden(small);
  return {
    small,
    url: small.url,
    one: await createCredential(small, await small.keyOf('one')),
    two: await createCredential(small, await small.keyOf('two')),
    hidden,
    logged,
    close: () => small.close(),
  };
}

/** A release whose attributes have every type, odd names and gaps. */
async function addHidden({ appliance }: SmallAppliance): Promise<SqlScene['hidden']> {
  const { releases, config } = appliance;
  const directory = await makeRelease(join(config.indexesFolder, 'hidden'), {
    fields: [
      { name: 'Gene', type: 'string' },
      { name: 'gene', type: 'string' },
      { name: `it's "odd"; --`, type: 'string' },
      { name: 'mass', type: 'number' },
      { name: 'tags', type: 'string_list' },
      { name: 'known', type: 'boolean' },
      { name: 'taxid', type: 'integer' },
    ],
    targets: [
      {
        id: `${HIDDEN_WORD}_1`,
        sequence: 'MKTAYIAKQR',
        attributes: { Gene: 'abcA', gene: 'abcB', mass: 1.5, tags: ['x', 'y"z'], known: true, taxid: 562 },
      },
      { id: `${HIDDEN_WORD}_2`, sequence: 'MKV', attributes: { [`it's "odd"; --`]: "o'dd", tags: [] } },
    ],
  });
  const id = directory.slice(directory.lastIndexOf('/') + 1);
  const manifest = await readManifest(directory);
  await releases.publish({ id, slug: 'hidden', publishedAt: '2026-01-01T00:00:00.000Z', manifest });
  await releases.share('hidden', ['two']);
  return { id, directory };
}
