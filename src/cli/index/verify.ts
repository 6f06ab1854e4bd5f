import type { Command } from 'commander';
import { verifyNeighbours } from '../../neighbours/sidecar.js';
import { verifyEvidence } from '../../recall/evidence.js';
import { Refusal } from '../../errors.js';
import { verifyRelease } from '../../release/verify.js';
import type { CommandContext } from '../terminal/command.js';
import { locateReleases, selectReleases, shortId, type IndexCatalog } from '../../pipelines/catalog.js';
import { withCatalog } from './catalog.js';
import { createProgress, formatDuration, formatQuantity } from '../terminal/progress.js';

export function addVerifyCommand(index: Command, context: CommandContext): void {
  index
    .command('verify')
    .description('recompute every digest of releases and name what has changed')
    .argument('[selectors...]', 'databases or releases (default: all)')
    .action((selectors: string[]) => withCatalog(context, (catalog) => verify(catalog, selectors, context)));
}

async function verify(
  catalog: IndexCatalog,
  selectors: readonly string[],
  context: CommandContext,
): Promise<void> {
  const suspects =
    selectors.length === 0
      ? locateReleases(catalog)
      : [...new Set(selectors.flatMap((selector) => selectReleases(catalog, selector)))];
  if (suspects.length === 0) throw new Refusal('database_not_found', 'No database is built yet.');
  let damagedCount = 0;
  for (const { slug, id, directory } of suspects) {
    const progress = createProgress(context.stderr);
    const startedMs = performance.now();
    let done = 0;
    const { isIntact, files, sizeBytes } = await verifyRelease(directory, (bytes, total) =>
      progress.update({ stage: 'verify', done: (done += bytes), total }),
    );
    progress.end();
    const calibrationProblems = await verifyEvidence(directory);
    const neighboursProblems = await verifyNeighbours(directory, id);
    if (isIntact && calibrationProblems.length === 0 && neighboursProblems.length === 0) {
      const elapsed = formatDuration(performance.now() - startedMs);
      const size = formatQuantity(sizeBytes, 'B');
      context.stdout.write(`${slug} ${shortId(id)}: intact (${files.length} files, ${size}, ${elapsed})\n`);
      continue;
    }
    damagedCount += 1;
    context.stdout.write(`${slug} ${shortId(id)}: DAMAGED\n`);
    for (const file of files) {
      if (!file.isIntact) context.stdout.write(`  ${file.path} ${file.problem}\n`);
    }
    for (const problem of calibrationProblems) context.stdout.write(`  calibration: ${problem}\n`);
    for (const problem of neighboursProblems) context.stdout.write(`  neighbours: ${problem}\n`);
  }
  if (damagedCount === 0) return;
  throw new Refusal(
    'release_damaged',
    `Damaged: ${damagedCount} of ${suspects.length}. Remove such a release with "gloaming index remove <release>" ` +
      'and build it again, or put its files back from a copy.',
  );
}
