import { printable } from '../../printable.js';
import { alignmentLines, type AlignmentLines } from '../../sequence/alignment-lines.js';
import type { Candidate, FurtherAlignment, PairwiseAlignment } from '../../pipelines/search.js';
import { alignmentOf, attributeText, type Layout, type SearchReport, targetId } from './report.js';
import { formatDistance, formatEValue, formatPercent } from '../terminal/numbers.js';

const COLUMNS_MIN = 20;

/**
 * Draws the alignment of one candidate in blocks that fit the layout, under a headline and its measurements.
 * @param place  position among the shown candidates, from 1
 */
export function drawAlignment(
  report: SearchReport,
  candidate: Candidate,
  place: number,
  layout: Layout,
): string {
  const headline = [
    layout.style.bold(`${place}. ${printable(targetId(report, candidate))}`),
    printable(attributeText(report, candidate, 'name')),
    printable(attributeText(report, candidate, 'organism')),
  ].filter((part) => part !== '');
  const alignment = candidate.further?.best ?? alignmentOf(candidate);
  if (alignment === undefined) {
    return `${headline.join('  ')}\n   no pair of residues scores above zero: nothing to align\n`;
  }
  const target = report.release.targets.sequence(candidate.targetIndex);
  const lines = alignmentLines(report.query.sequence, target, alignment);
  const facts = measurementsOf(candidate, alignment, lines).map((fact) => `   ${fact}\n`);
  const { best: refined, alignments: further = [], logAcceptedShare } = candidate.further ?? {};
  const aboutOf = ({ rawScore, significance: { logEValue } }: FurtherAlignment, number: number): string => {
    const facts = [`score ${rawScore}`, `E-value ${formatEValue(logEValue)}`];
    if (logAcceptedShare !== undefined)
      facts.push(`conditional ${formatEValue(logEValue + logAcceptedShare)}`);
    return `   alignment ${number} of ${further.length + 1}: ${facts.join(', ')}\n`;
  };
  const own = refined === undefined ? '' : aboutOf(refined, 1);
  const best = `${headline.join('  ')}\n${facts.join('')}${own}\n${drawBlocks(lines, alignment, layout)}`;
  const drawn = further.map((each, at) => {
    const eachLines = alignmentLines(report.query.sequence, target, each);
    const about = `${aboutOf(each, at + 2)}   ${columnsOf(each, eachLines)}\n`;
    return `\n${about}\n${drawBlocks(eachLines, each, layout)}`;
  });
  return best + drawn.join('');
}

function measurementsOf(candidate: Candidate, alignment: PairwiseAlignment, lines: AlignmentLines): string[] {
  const { significance } = candidate;
  return [
    [
      `distance ${formatDistance(candidate.maxsim.bidirectional)}`,
      `score ${candidate.affine.rawScore} (${candidate.affine.normalizedScore.toFixed(3)} of a self match)`,
      ...(significance.kind === 'supported' ? [`E-value ${formatEValue(significance.logEValue)}`] : []),
    ].join(', '),
    columnsOf(alignment, lines),
  ];
}

/** Counts of columns, as text. */
function columnsOf(alignment: PairwiseAlignment, { middle }: AlignmentLines): string {
  const identical = alignment.identicalResidueCount;
  const positive = [...middle].filter((mark) => mark !== ' ').length;
  const share = (count: number): string =>
    `${count}/${middle.length} (${formatPercent(count / middle.length)})`;
  const gaps = alignment.gapResidueCount === 0 ? '0' : share(alignment.gapResidueCount);
  return `identical ${share(identical)}, similar ${share(positive)}, gaps ${gaps}`;
}

/** Blocks with one-based residue numbers at both ends. */
function drawBlocks(lines: AlignmentLines, alignment: PairwiseAlignment, { columns }: Layout): string {
  const digits = String(Math.max(alignment.queryEnd, alignment.targetEnd)).length;
  const margin = '   query  '.length;
  const width = Math.max(COLUMNS_MIN, Math.floor((columns - margin - 2 * digits - 4) / 10) * 10);
  const blocks: string[] = [];
  let queryAt = alignment.queryStart;
  let targetAt = alignment.targetStart;
  for (let start = 0; start < lines.middle.length; start += width) {
    const row = (label: string, text: string, at: number): [string, number] => {
      const end = at + text.replaceAll('-', '').length;
      // A row of gaps only stands at the residue before it.
      const first = end > at ? at + 1 : at;
      return [`   ${label.padEnd(6)} ${String(first).padStart(digits)}  ${text}  ${end}\n`, end];
    };
    const [queryRow, queryEnd] = row('query', lines.query.slice(start, start + width), queryAt);
    const [targetRow, targetEnd] = row('target', lines.target.slice(start, start + width), targetAt);
    const middle = `${' '.repeat(margin + digits + 2)}${lines.middle.slice(start, start + width)}`.trimEnd();
    blocks.push(`${queryRow}${middle}\n${targetRow}`);
    queryAt = queryEnd;
    targetAt = targetEnd;
  }
  return blocks.join('\n');
}
