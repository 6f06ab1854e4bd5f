import type { BuildEstimate } from '../../pipelines/estimate.js';
import { formatDuration, formatQuantity } from '../terminal/progress.js';

const NAMES: Readonly<Record<string, string>> = {
  digest: 'hashing the input',
  read: 'reading',
  encode: 'encoding',
  write: 'writing',
  calibrate: 'calibrating (E-values)',
  qualify: 'measuring the fast policy',
};

/** Describes the estimate of a build in a dozen lines. @param homologs  the value of --homologs */
export function describeEstimate(
  { extent, isExact, stages, diskBytes, workBytes, searchBytes, buildBytes }: BuildEstimate,
  homologs: string,
): string {
  const { proteins, residues } = extent;
  const all = stages.reduce((sum, { ms }) => sum + ms, 0);
  const about = isExact ? '' : 'about ';
  const lines: readonly (readonly [string, string])[] = [
    ['input', `${about}${proteins.toLocaleString('en')} proteins, ${formatQuantity(residues, 'residues')}`],
    ['time', formatDuration(all)],
    ...stages
      .filter(({ ms }) => ms >= all / 100)
      .map(({ stage, ms, isMeasured }): readonly [string, string] => [
        `  ${NAMES[stage] ?? stage}`,
        `${formatDuration(ms)}${isMeasured ? '' : ' (never measured here: scaled by the rate of the encoder)'}`,
      ]),
    [
      'disk',
      `${formatQuantity(diskBytes, 'B')}, and ${formatQuantity(workBytes, 'B')} of work files meanwhile`,
    ],
    ['memory', `${formatQuantity(buildBytes, 'B')} to build, ${formatQuantity(searchBytes, 'B')} to search`],
  ];
  const text = lines.map(([name, value]) => `${name.padEnd(28)}${value}\n`).join('');
  const note =
    homologs === 'none'
      ? ''
      : 'Homologs are not in it: their number is known only after a search. The build says what they take.\n';
  return `${text}${note}Nothing was built.\n`;
}
