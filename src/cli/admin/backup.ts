import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../../config.js';
import { backup } from '../../services/backup/backup.js';
import { restore } from '../../services/backup/restore.js';
import { recordMaintenance } from '../../services/backup/maintenance.js';
import { SECRET_KEY_FILE } from '../../store/secret-key.js';
import type { CommandContext } from '../terminal/command.js';
import { createProgress, formatQuantity } from '../terminal/progress.js';

/** `gloaming backup <folder>` and `gloaming restore <folder>`. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('backup')
    .description('copy everything that cannot be rebuilt into a folder; the server may be running')
    .argument('<folder>', 'folder of the backup; files that it already has are not copied again')
    .option('--verify', 'read the files of earlier backups, too, and copy changed ones again')
    .action((folder: string, { verify = false }: { verify?: boolean }) => save(folder, verify, context));
  program
    .command('restore')
    .description('put a backup in place, into an empty data folder, after every digest has been verified')
    .argument('<folder>', 'a folder that "gloaming backup" wrote')
    .action((folder: string) => bringBack(folder, context));
}

async function save(folder: string, isVerifying: boolean, context: CommandContext): Promise<void> {
  const startedMs = performance.now();
  const folders = loadConfig(context.environment);
  const { dataFolder } = folders;
  const now = new Date();
  const report = await backup({
    folders,
    target: resolve(folder),
    now,
    isVerifying,
  });
  const { fileCount, sizeBytes, copiedCount, copiedBytes, removedCount } = report;
  recordMaintenance(dataFolder, 'backup', { at: now.toISOString(), outcome: `into ${resolve(folder)}` });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  context.stdout.write(
    `Backed up ${fileCount} files (${formatQuantity(sizeBytes, 'B')}) in ${seconds} s; ` +
      `${copiedCount} of them were new (${formatQuantity(copiedBytes, 'B')})` +
      `${removedCount === 0 ? '' : `, ${removedCount} of earlier backups were not needed any more`}.\n` +
      `Settings, TLS files and ${SECRET_KEY_FILE} are not in it. Keep a copy of that file of the data folder ` +
      'elsewhere: without it a restored appliance has no webhook secrets, and its signed URLs end.\n',
  );
}

async function bringBack(folder: string, { environment, stdout, stderr }: CommandContext): Promise<void> {
  const progress = createProgress(stderr);
  const folders = loadConfig(environment);
  let done = 0;
  const onBytes = (bytes: number, total: number): void =>
    progress.update({ stage: 'restore', done: (done += bytes), total });
  const report = await restore({ folders, source: resolve(folder), onBytes });
  progress.end();
  stdout.write(
    `Restored ${report.fileCount} files (${formatQuantity(report.sizeBytes, 'B')}) as of ${report.createdAt}; ` +
      `${report.knownCount} were in place already. Every digest was verified.\n` +
      'API keys are those of that time; requests that were answered later are lost.\n' +
      `Before the start, put the ${SECRET_KEY_FILE} of the appliance into ${folders.dataFolder}: no backup holds it.\n`,
  );
}
