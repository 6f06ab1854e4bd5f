import { join } from 'node:path';
import { openCodebookOf } from '../../src/recall/codebook-sidecar.js';
import { isQualifiedPolicy, qualificationId, type PolicyKind } from '../../src/recall/policy-card.js';
import { qualifyRelease } from '../../src/measure-recall/qualify.js';
import type { SearchEngine } from '../../src/search/search-types.js';

/**
 * Returns the engine with this policy instead of its own, whether or not the policy qualifies. Its card is measured
 * with few queries and written to a separate folder. Recall and cost are printed.
 * Errors  those of `qualifyRelease` and `openCodebookOf`
 */
export async function qualifiedEngine(
  engine: SearchEngine,
  policy: PolicyKind,
  { queryCount, folder }: { readonly queryCount: number; readonly folder: string },
): Promise<SearchEngine> {
  const release = { ...engine.release, directory: join(folder, policy) };
  const before = process.cpuUsage();
  const { card } = await qualifyRelease({ engine: { ...engine, release }, policy, queryCount });
  const { user, system } = process.cpuUsage(before);
  const { nearest_10: ten, nearest_100: hundred, evident } = card.recalls;
  const means = [ten, hundred, evident].map((recall) => recall?.mean.toFixed(3) ?? '–').join(' / ');
  const verdict = isQualifiedPolicy(card) ? 'qualified' : 'not qualified';
  const { nearest_count: nearest, striking_count: local } = card.policy;
  const counts = card.codes
    ? `at most ${nearest} candidates`
    : `${nearest} nearest and ${local} local candidates`;
  console.log(
    `${policy}: ${verdict} with ${queryCount} queries; recall of ${counts}: ${means} (nearest 10, nearest 100, ` +
      `evident); ${((user + system) / 1e6).toFixed(0)} s of CPU time for the card and its codebook`,
  );
  const codebook = await openCodebookOf(release.directory, card.codes, release);
  const qualification = { id: qualificationId(card), card };
  return { ...engine, codebook, qualification };
}
