import type { Command } from 'commander';
import { loadConfig } from '../../config.js';
import { Keys } from '../../services/keys.js';
import { ApiKeyTable } from '../../store/tables/api-keys.js';
import { openControlStore } from '../../store/control-store.js';
import { requireSoundControlState } from '../../store/probe.js';
import type { CommandContext } from '../terminal/command.js';
import { formatTable } from '../terminal/table.js';

/** `gloaming keys create|list|revoke`. */
export function register(program: Command, context: CommandContext): void {
  const keys = program
    .command('keys')
    .description('API keys: made, listed and revoked here, or by the operator in the console');
  keys
    .command('create')
    .description('make a key and show it, once')
    .argument('<name>', 'what the key is for')
    .option('--organization <name>', 'organization that owns what the key makes', 'default')
    .action((name: string, options: { organization: string }) =>
      withKeys(context, async (service) => {
        const { key, row } = await service.create(name, options.organization);
        context.stdout.write(`${key}\n`);
        context.stderr.write(
          `${row.id} for organization ${row.organizationId}. The key is not shown again.\n`,
        );
      }),
    );
  keys
    .command('list')
    .description('keys with their organization and state')
    .action(() =>
      withKeys(context, (service) => {
        const rows = service
          .list()
          .map((row) => [
            row.id,
            `glm_${row.short}_…`,
            row.organizationId,
            row.name,
            row.createdAt,
            row.revokedAt === undefined ? 'live' : `revoked ${row.revokedAt}`,
          ]);
        context.stdout.write(formatTable(['id', 'key', 'organization', 'name', 'created', 'state'], rows));
      }),
    );
  keys
    .command('revoke')
    .description('end a key at once')
    .argument('<id>', 'key id (key_…) or the 8 characters after glm_')
    .action((id: string) =>
      withKeys(context, async (service) => {
        const row = await service.revoke(id);
        context.stdout.write(`Revoked ${row.id} (${row.name}).\n`);
      }),
    );
}

async function withKeys(context: CommandContext, work: (keys: Keys) => void | Promise<void>): Promise<void> {
  const { dataFolder } = loadConfig(context.environment);
  await requireSoundControlState(dataFolder);
  const store = openControlStore(dataFolder);
  try {
    await work(new Keys(new ApiKeyTable(store), () => new Date()));
  } finally {
    await store.close();
  }
}
