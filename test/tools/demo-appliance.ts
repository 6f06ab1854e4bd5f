import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance, type Appliance } from '#src/appliance.js';
import { loadConfig } from '#src/config.js';
import { simulateProteins, type SimulatedDatabase } from '#src/demo/simulate.js';
import type { FoundRelease } from '#src/release/catalog.js';
import { copyDemoRelease } from './fixtures.js';

export interface DemoOptions {
  /** Seed of the simulated proteins. */
  readonly seed: number;
  readonly proteins: number;
  /** Settings that differ from config/appliance.json. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Variables beside those of DemoAppliance.environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** An open appliance in a folder of its own whose only database holds simulated proteins; nothing is served yet. */
export interface DemoAppliance {
  readonly appliance: Appliance;
  readonly folder: string;
  /** Variables with which another process or a later call opens the same appliance, on a free port. */
  readonly environment: Readonly<Record<string, string>>;
  readonly demo: SimulatedDatabase;
  readonly sequences: readonly string[];
  readonly release: FoundRelease;
  /** @returns a new API key of the organization */
  readonly keyOf: (organization: string) => Promise<string>;
  /** Removes the folder. The caller closes the appliance first. */
  readonly remove: () => void;
}

export async function openDemoAppliance(options: DemoOptions): Promise<DemoAppliance> {
  const { seed, proteins, settings = {} } = options;
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-demo-'));
  const settingsFile = join(folder, 'settings.json');
  writeFileSync(settingsFile, JSON.stringify(settings));
  const environment = {
    GLOAMING_CONFIG: settingsFile,
    GLOAMING_INDEXES: join(folder, 'indexes'),
    GLOAMING_DATA: join(folder, 'data'),
    GLOAMING_PORT: '0',
    GLOAMING_ENCODER: 'baseline-1',
    GLOAMING_WEBHOOK_NETWORKS: '127.0.0.0/8',
    ...options.environment,
  };
  const release = await copyDemoRelease(environment.GLOAMING_INDEXES, seed, proteins);
  const appliance = await openAppliance(loadConfig(environment));
  const { id, slug, manifest } = release;
  await appliance.releases.publish({ id, slug, publishedAt: new Date().toISOString(), manifest });
  const demo = simulateProteins(seed, proteins);
  return {
    appliance,
    folder,
    environment,
    demo,
    sequences: demo.proteins.map(({ sequence }) => sequence),
    release,
    keyOf: async (organization) => (await appliance.keys.create('test', organization)).key,
    // A killed engine may still write its last spilled pages.
    remove: () => rmSync(folder, { recursive: true, maxRetries: 10, retryDelay: 100 }),
  };
}
