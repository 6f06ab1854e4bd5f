import type { Command } from 'commander';
import { loadConfig, type ApplianceConfig } from '../../config.js';
import { checkOrganization, Keys } from '../../services/keys.js';
import { Sessions } from '../../services/console/sessions.js';
import { openControlStore } from '../../store/control-store.js';
import { servedAddress } from '../../store/owner.js';
import { ApiKeyTable } from '../../store/tables/api-keys.js';
import { SessionTable } from '../../store/tables/sessions.js';
import { realWorld } from '../../world.js';
import type { CommandContext } from '../terminal/command.js';
import { serverUrl } from '../terminal/server-url.js';

/** `gloaming console`: prints a one-time link to the console. Reading the data folder is the permission. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('console')
    .description(
      'print a link that lets one browser into the console as the operator, once, within 15 minutes',
    )
    .option('--organization <name>', 'organization that the browser speaks for', 'default')
    .action(({ organization }: { organization: string }) => printLink(context, organization));
}

async function printLink(
  { environment, stdout, stderr }: CommandContext,
  organization: string,
): Promise<void> {
  checkOrganization(organization);
  const config = loadConfig(environment);
  const served = servedAddress(config.dataFolder);
  if (served === undefined)
    stderr.write(`No server runs on ${config.dataFolder}. The link works when "gloaming serve" does.\n`);
  const store = openControlStore(config.dataFolder);
  try {
    const keys = new Keys(new ApiKeyTable(store), realWorld.now);
    const sessions = new Sessions(new SessionTable(store), keys, realWorld, config.isConsoleOpen);
    const url = served === undefined ? consoleUrl(config, config.port) : consoleOf(served);
    stdout.write(`${url}#/enter/${await sessions.newLink(organization)}\n`);
  } finally {
    await store.close();
  }
}

/** URL of the console for a browser on this machine, or by the public address. @param port at which it listens */
export function consoleUrl(config: ApplianceConfig, port: number | string): string {
  return consoleOf(serverUrl(config, port));
}

function consoleOf(server: string): string {
  return `${server}/console/`;
}
