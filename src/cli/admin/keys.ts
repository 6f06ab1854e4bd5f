import { InvalidArgumentError, Option, type Command } from 'commander';
import { loadConfig, type ApplianceConfig } from '../../config.js';
import { KEY_SCOPES, USUAL_SCOPE, type KeyScope } from '../../contract/grammar/key-scopes.js';
import { Keys } from '../../services/keys.js';
import { ApiKeyTable, type ApiKeyRow } from '../../store/tables/api-keys.js';
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
    .addOption(
      new Option('--scope <scope>', 'what it is good for: each has what stands before it, too')
        .choices(KEY_SCOPES)
        .default(USUAL_SCOPE),
    )
    .option('--expires <when>', 'a date, 2027-06-30, or a number of days, 90d (default: never)', dateOf)
    .action((name: string, { organization, scope, expires }: CreateOptions) =>
      withKeys(loadConfig(context.environment), async (service) => {
        const { key, row } = await service.create(name, organization, { scope, expiresAt: expires });
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
      withKeys(loadConfig(context.environment), (service) => {
        const rows = service
          .list()
          .map((row) => [
            row.id,
            `glm_${row.short}_…`,
            row.organizationId,
            row.name,
            row.scope,
            row.createdAt.slice(0, 10),
            row.lastUsedAt?.slice(0, 16).replace('T', ' ') ?? 'never',
            stateOf(row, new Date().toISOString()),
          ]);
        const header = ['id', 'key', 'organization', 'name', 'scope', 'created', 'last used (UTC)', 'state'];
        context.stdout.write(formatTable(header, rows));
      }),
    );
  keys
    .command('revoke')
    .description('end a key at once')
    .argument('<id>', 'key id (key_…) or the 8 characters after glm_')
    .action((id: string) =>
      withKeys(loadConfig(context.environment), async (service) => {
        const row = await service.revoke(id);
        context.stdout.write(`Revoked ${row.id} (${row.name}).\n`);
      }),
    );
}

interface CreateOptions {
  readonly organization: string;
  readonly scope: KeyScope;
  readonly expires?: string;
}

function stateOf({ revokedAt, expiresAt }: ApiKeyRow, now: string): string {
  if (revokedAt !== undefined) return `revoked ${revokedAt.slice(0, 10)}`;
  if (expiresAt === undefined) return 'live';
  return `${expiresAt <= now ? 'expired' : 'live until'} ${expiresAt.slice(0, 10)}`;
}

/** Parses a day, which ends at midnight, or a number of days from now. */
function dateOf(text: string): string {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  const at = days === undefined ? Date.parse(`${text}T23:59:59Z`) : Date.now() + Number(days) * DAY_MS;
  // Date.parse takes 2027-02-30 as 2027-03-02, so the date is compared with the text.
  const isDate = (): boolean => days !== undefined || new Date(at).toISOString().slice(0, 10) === text;
  if (at > Date.now() && isDate()) return new Date(at).toISOString();
  throw new InvalidArgumentError('Expected is a date to come, such as 2027-06-30, or days, such as 90d.');
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Opens the keys of a data folder, whether or not a server is running on it. */
export async function withKeys<Result>(
  { dataFolder }: Pick<ApplianceConfig, 'dataFolder'>,
  work: (keys: Keys) => Result | Promise<Result>,
): Promise<Result> {
  await requireSoundControlState(dataFolder);
  const store = openControlStore(dataFolder);
  try {
    return await work(new Keys(new ApiKeyTable(store), () => new Date()));
  } finally {
    await store.close();
  }
}
