import type { CutOffs, Sort } from '../../contract/search/selection.js';
import { Refusal } from '../../errors.js';
import { eValueOf, type SearchEngine } from '../../pipelines/search.js';
import { evidenceOfCandidate } from '../../services/evidence.js';
import { selectByEvidence } from '../../services/select.js';
import type { CommandContext } from '../terminal/command.js';
import { describeLeftOut, describeOrder } from '../terminal/selection.js';
import type { FormatName } from './options.js';
import type { SearchReport } from './report.js';

interface Selection {
  readonly cutOffs: CutOffs;
  readonly sort: Sort;
  /** Candidates that are shown of those within the cut-offs, the first in the order. Default: all. */
  readonly shownCount?: number;
}

/** Errors  Refusal `significance_unavailable` if a bound on E-values would exclude every candidate */
export function refuseBoundWithoutCalibration({ cutOffs }: Selection, { calibration }: SearchEngine): void {
  if (cutOffs.maximum_expected_false_hits === undefined || calibration !== undefined) return;
  throw new Refusal(
    'significance_unavailable',
    '--max-evalue needs E-values, and this release has no qualified calibration. "gloaming index calibrate" makes ' +
      'one; --min-query-coverage and --min-identity work without.',
  );
}

/**
 * Selects the shown candidates of each search, in order. A table itself states its exclusions and order. For other
 * formats, which programs read, a line on standard error states them.
 */
export async function* selectReports(
  reports: AsyncIterable<SearchReport>,
  selection: Selection,
  format: FormatName,
  { stderr }: Pick<CommandContext, 'stderr'>,
): AsyncGenerator<SearchReport> {
  let candidateCount = 0;
  let leftOutCount = 0;
  let hasEValues = false;
  let isPropagated = false;
  for await (const report of reports) {
    const { candidates } = report.result;
    const selected = selectByEvidence(candidates, evidenceOfCandidate, selection);
    candidateCount += candidates.length;
    const hasSome = candidates.some((candidate) => eValueOf(candidate) !== undefined);
    hasEValues ||= hasSome;
    isPropagated ||= report.propagation !== undefined;
    leftOutCount += selected.leftOutCount;
    yield {
      ...report,
      result: { ...report.result, candidates: selected.selected.slice(0, selection.shownCount) },
      sort: selection.sort,
      ...(selection.shownCount !== undefined && { chosenFromCount: selected.selected.length }),
      leftOutCount: selected.leftOutCount,
      hasEValues: hasSome,
    };
  }
  if (format === 'table' || candidateCount === 0) return;
  const order = describeOrder(selection.sort, hasEValues, isPropagated);
  const lines = [order, describeLeftOut(leftOutCount, candidateCount)];
  stderr.write(`${lines.filter((line) => line !== '').join(' ')}\n`);
}
