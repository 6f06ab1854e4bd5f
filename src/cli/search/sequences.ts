import { formatDistance } from '../terminal/numbers.js';
import { attributeText, type SearchOutput, type SearchReport, targetId } from './report.js';

const FASTA_LINE_RESIDUES = 60;

/** FASTA: the whole sequence of each candidate, best first. The header has the query and the distance. */
export async function* formatFasta(reports: AsyncIterable<SearchReport>): SearchOutput {
  for await (const report of reports) {
    for (const candidate of report.result.candidates) {
      const about = [
        attributeText(report, candidate, 'name'),
        `query=${report.query.id}`,
        `rank=${candidate.rank}`,
        `distance=${formatDistance(candidate.maxsim.bidirectional)}`,
        `score=${candidate.affine.rawScore}`,
      ];
      const header = `>${targetId(report, candidate)} ${about.filter((part) => part !== '').join(' ')}`;
      yield `${header.replace(/[\r\n]/g, ' ')}\n${wrap(report.release.targets.sequence(candidate.targetIndex))}`;
    }
  }
}

function wrap(sequence: string): string {
  const lines: string[] = [];
  for (let start = 0; start < sequence.length; start += FASTA_LINE_RESIDUES) {
    lines.push(`${sequence.slice(start, start + FASTA_LINE_RESIDUES)}\n`);
  }
  return lines.join('');
}
