import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { loadConfig } from '#src/config.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { buildSimulated } from '#src/demo/simulated.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { findEncoder } from '#src/encoder/find.js';
import { loadEncoder } from '#src/encoder/load.js';
import { releaseDirectory, type FoundRelease } from '#src/release/catalog.js';
import { readManifest } from '#src/release/manifest.js';

/* Folders that many tests need, made once for one version of the code. Each caller gets a copy, which it may change. */

/** A release of `count` simulated proteins in a folder of indexes, as `buildSimulated` writes it. */
export async function copyDemoRelease(
  indexesFolder: string,
  seed: number,
  count: number,
): Promise<FoundRelease> {
  await copyFixture(`demo-${seed}-${count}`, indexesFolder, (folder) => buildDemoIn(folder, seed, count));
  const [id] = readdirSync(join(indexesFolder, DEMO_SLUG)).filter((name) => name.startsWith('dbr_'));
  const directory = releaseDirectory(indexesFolder, DEMO_SLUG, id!);
  return { slug: DEMO_SLUG, id: id!, directory, manifest: await readManifest(directory) };
}

export async function buildDemoIn(indexesFolder: string, seed: number, count: number): Promise<void> {
  const encoder = await loadEncoder(await findEncoder('baseline-1', loadConfig({})));
  try {
    await buildSimulated(simulateProteins(seed, count), encoder, indexesFolder, { slug: DEMO_SLUG });
  } finally {
    await encoder.close();
  }
}

/**
 * Copies the files of a fixture into a folder. The first caller makes them.
 * @param name states all dependencies of the files except the code
 */
async function copyFixture(
  name: string,
  into: string,
  make: (folder: string) => Promise<void>,
): Promise<void> {
  const fixture = join(inject('fixturesFolder'), name);
  if (!existsSync(fixture)) {
    const made = mkdtempSync(`${fixture}-making-`);
    await make(made);
    moveTo(made, fixture);
  }
  mkdirSync(into, { recursive: true });
  cpSync(fixture, into, { recursive: true });
}

/** Two processes may have made the same files. The first one keeps its place. */
function moveTo(made: string, fixture: string): void {
  try {
    renameSync(made, fixture);
  } catch (error) {
    rmSync(made, { recursive: true });
    if (!existsSync(fixture)) throw error;
  }
}
