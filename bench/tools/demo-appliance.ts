import { join } from 'node:path';
import { openAppliance, type Appliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { simulateProteins, type SimulatedProtein } from '../../src/demo/simulate.js';
import { buildSimulated, SIMULATED_SLUG } from '../../src/demo/simulated.js';

interface DemoAppliance {
  readonly appliance: Appliance;
  readonly proteins: readonly SimulatedProtein[];
  /** An API key of the organization "bench". */
  readonly key: string;
}

/**
 * Opens an appliance in a folder and publishes a database of simulated proteins in it. Nothing is served yet.
 * Errors  those of openAppliance and buildSimulated
 */
export async function openDemoAppliance(
  folder: string,
  proteinCount: number,
  environment: Readonly<Record<string, string>> = {},
): Promise<DemoAppliance> {
  const appliance = await openAppliance(
    loadConfig({
      ...process.env,
      GLOAMING_INDEXES: join(folder, 'i'),
      GLOAMING_DATA: join(folder, 'd'),
      GLOAMING_PORT: '0',
      GLOAMING_ENCODER: 'baseline-1',
      ...environment,
    }),
  );
  const demo = simulateProteins(1, proteinCount);
  const encoder = await appliance.loadEncoder('baseline-1');
  const { release } = await buildSimulated(demo, encoder, appliance.config.indexesFolder);
  await encoder.close();
  const { id, manifest } = release;
  const publishedAt = new Date().toISOString();
  await appliance.releases.publish({ id, slug: SIMULATED_SLUG, publishedAt, manifest });
  const { key } = await appliance.keys.create('bench', 'bench');
  return { appliance, proteins: demo.proteins, key };
}
