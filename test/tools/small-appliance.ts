import { pino, type Logger } from 'pino';
import { serve } from '#src/cli/serve/serve.js';
import { openDemoAppliance, type DemoAppliance } from './demo-appliance.js';

/** A served appliance around a simulated database of 60 proteins, on a free loopback port. */
export interface SmallAppliance extends Omit<DemoAppliance, 'remove'> {
  readonly url: string;
  /** Port of the PostgreSQL protocol, if the settings serve it. */
  readonly postgresPort?: number;
  close(): Promise<void>;
}

/** @param settings those that differ from config/appliance.json; @param log default: silent */
export async function startSmallAppliance(
  settings: Readonly<Record<string, unknown>> = {},
  log: Logger = pino({ level: 'silent' }),
): Promise<SmallAppliance> {
  const opened = await openDemoAppliance({ seed: 11, proteins: 60, settings });
  const { appliance, remove } = opened;
  const server = await serve(appliance, log, { isResponseChecked: true });
  return {
    ...opened,
    url: server.url,
    postgresPort: server.postgresPort,
    async close() {
      await server.stop(2_000);
      await appliance.close();
      remove();
    },
  };
}
