import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino, type Logger } from 'pino';
import { openAppliance, type Appliance } from '#src/appliance.js';
import { buildDemo, DEMO_SLUG } from '#src/demo/demo.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { serve } from '#src/cli/serve/serve.js';
import { loadConfig } from '#src/config.js';

/** Everything real, around a simulated database of 60 proteins, on a free loopback port. */
export interface SmallAppliance {
  readonly appliance: Appliance;
  readonly url: string;
  /** Of the PostgreSQL protocol, where the settings serve it. */
  readonly postgresPort?: number;
  /** Sequences of the database. */
  readonly sequences: readonly string[];
  /** A new key of the organization. */
  keyOf(organization: string): Promise<string>;
  close(): Promise<void>;
}

/** @param settings those of config/appliance.json that differ; @param log default: silent */
export async function startSmallAppliance(
  settings: Readonly<Record<string, unknown>> = {},
  log: Logger = pino({ level: 'silent' }),
): Promise<SmallAppliance> {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-small-'));
  const settingsFile = join(folder, 'settings.json');
  writeFileSync(settingsFile, JSON.stringify(settings));
  const demo = simulateProteins(11, 60);
  const appliance = await openAppliance(
    loadConfig({
      GLOAMING_CONFIG: settingsFile,
      GLOAMING_INDEXES: join(folder, 'indexes'),
      GLOAMING_DATA: join(folder, 'data'),
      GLOAMING_PORT: '0',
      GLOAMING_ENCODER: 'baseline-1',
      GLOAMING_WEBHOOK_NETWORKS: '127.0.0.0/8',
    }),
  );
  const encoder = await appliance.loadEncoder('baseline-1');
  const { release } = await buildDemo(demo, encoder, appliance.config.indexesFolder);
  await encoder.close();
  const publishedAt = new Date().toISOString();
  await appliance.releases.publish({
    id: release.id,
    slug: DEMO_SLUG,
    publishedAt,
    manifest: release.manifest,
  });
  const server = await serve(appliance, log, { isResponseChecked: true });
  return {
    appliance,
    url: server.url,
    postgresPort: server.postgresPort,
    sequences: demo.proteins.map(({ sequence }) => sequence),
    keyOf: async (organization) => (await appliance.keys.create('test', organization)).key,
    async close() {
      await server.stop(2_000);
      await appliance.close();
      rmSync(folder, { recursive: true });
    },
  };
}
