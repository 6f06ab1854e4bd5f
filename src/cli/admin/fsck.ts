import type { Command } from 'commander';
import { loadConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import { fsck, type FsckVerdict } from '../../services/backup/fsck.js';
import { recordMaintenance } from '../../services/backup/maintenance.js';
import { FINDING_KINDS, type Finding, type FindingKind } from '../../store/check/findings.js';
import type { CommandContext } from '../terminal/command.js';
import { createProgress, formatQuantity } from '../terminal/progress.js';

/** Findings of one kind in the text output; --json lists all. */
const SHOWN_PER_KIND = 10;

/** `gloaming fsck`: checks that all stored data are present, intact and consistent. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('fsck')
    .description(
      'look for damage in the data and indexes folders; nothing is changed, and the server may be running',
    )
    .option('--json', 'the findings as JSON')
    .addHelpText(
      'after',
      '\nExit code: 0 without damage (leftovers are none), 2 with damage, 1 if it could not look.',
    )
    .action(({ json = false }: { json?: boolean }) => check(json, context));
}

async function check(isJson: boolean, { environment, stdout, stderr }: CommandContext): Promise<void> {
  const progress = createProgress(stderr);
  let done = 0;
  const folders = loadConfig(environment);
  const now = new Date();
  const verdict = await fsck({
    folders,
    now,
    onBytes: (bytes, total) => progress.update({ stage: 'verify', done: (done += bytes), total }),
  });
  progress.end();
  stdout.write(isJson ? jsonOf(verdict) : textOf(verdict));
  const damageCount = verdict.findings.filter(isDamage).length;
  const outcome = damageCount === 0 ? 'no damage' : `damage in ${damageCount} places`;
  recordMaintenance(folders.dataFolder, 'fsck', { at: now.toISOString(), outcome });
  if (damageCount === 0) return;
  throw new Refusal('damage_found', `Damage was found in ${damageCount} places.`);
}

function isDamage({ kind }: Finding): boolean {
  return FINDING_KINDS[kind].level === 'damage';
}

function jsonOf({ findings, ...verdict }: FsckVerdict): string {
  const value = {
    is_intact: !findings.some(isDamage),
    row_count: verdict.rowCount,
    object_count: verdict.objectCount,
    object_bytes: verdict.objectBytes,
    release_count: verdict.releaseCount,
    release_bytes: verdict.releaseBytes,
    findings: findings.map((finding) => ({ ...finding, ...FINDING_KINDS[finding.kind] })),
  };
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function textOf(verdict: FsckVerdict): string {
  const { findings, rowCount, objectCount, objectBytes, releaseCount, releaseBytes } = verdict;
  const kinds = [...new Set(findings.map(({ kind }) => kind))];
  const [damage, leftovers] = (['damage', 'leftover'] as const).map((level) =>
    kinds.filter((kind) => FINDING_KINDS[kind].level === level),
  );
  const counted = (count: number, noun: string): string => `${count.toLocaleString('en')} ${noun}`;
  return [
    `Looked at ${counted(rowCount, 'rows')}, ${counted(objectCount, 'objects')} ` +
      `(${formatQuantity(objectBytes, 'B')}), ${counted(releaseCount, 'releases')} ` +
      `(${formatQuantity(releaseBytes, 'B')}).\n`,
    ...(damage.length === 0
      ? ['No damage.\n']
      : ['\nDAMAGE\n', ...damage.map((kind) => describe(kind, findings))]),
    ...(leftovers.length === 0
      ? []
      : ['\nLeftovers\n', ...leftovers.map((kind) => describe(kind, findings))]),
  ].join('');
}

function describe(kind: FindingKind, findings: readonly Finding[]): string {
  const ofKind = findings.filter((finding) => finding.kind === kind);
  const lines = ofKind.slice(0, SHOWN_PER_KIND).map(({ subject, message }) => `    ${subject}: ${message}\n`);
  const more = ofKind.length > lines.length ? [`    … and ${ofKind.length - lines.length} more\n`] : [];
  const title = `  ${kind.replaceAll('_', ' ')} (${ofKind.length})\n`;
  return [title, ...lines, ...more, `    → ${FINDING_KINDS[kind].remedy}\n`].join('');
}
