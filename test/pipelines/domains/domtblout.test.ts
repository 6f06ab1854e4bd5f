import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { AnnotatedProtein, Domain } from '#src/domains/domain.js';
import { domainTblout } from '#src/pipelines/domains/tables.js';

/* The domain table of proteins whose families alternate, as hmmscan writes it and Biopython reads it. */

const PYTHON = '/usr/bin/python3';
const hasBiopython = (() => {
  try {
    execFileSync(PYTHON, ['-c', 'import Bio'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
if (!hasBiopython) console.log('Skipped: python3-biopython is not installed here.');

function domain(id: string, name: string, start: number): Domain {
  return {
    family: { id, name, length: 100 },
    start,
    end: start + 90,
    familyStart: 5,
    familyEnd: 95,
    logEValue: -20 - start / 100,
    conditionalLogEValue: -25 - start / 100,
    logCount: 5,
    bitScore: 30,
    round: 1,
  };
}

const PROTEINS: readonly AnnotatedProtein[] = [
  {
    id: 'P1',
    length: 700,
    domains: [
      domain('F1', 'alpha', 0),
      domain('F2', 'beta', 100),
      domain('F1', 'alpha', 200),
      // Another family of the same name.
      domain('F3', 'alpha', 300),
      domain('F2', 'beta', 400),
      domain('F1', 'alpha', 500),
    ],
  },
  { id: 'P2', length: 300, domains: [domain('F2', 'beta', 0), domain('F1', 'alpha', 100)] },
];

const table = (): string => [...domainTblout(PROTEINS)].join('');

describe('the domain table', () => {
  it('has the rows of a family in a protein one after the other, families by their first domains', () => {
    const rows = table()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.split(/\s+/))
      .map((cells) => [cells[3], cells[0], cells[9], cells[10], cells[17]].join(' '));
    expect(rows).toEqual([
      'P1 alpha 1 3 1',
      'P1 alpha 2 3 201',
      'P1 alpha 3 3 501',
      'P1 alpha 1 1 301',
      'P1 beta 1 2 101',
      'P1 beta 2 2 401',
      'P2 beta 1 1 1',
      'P2 alpha 1 1 101',
    ]);
  });

  it.skipIf(!hasBiopython)('is read by Biopython with every domain', () => {
    const script = [
      'import io, json, sys',
      'from Bio import SearchIO',
      "results = SearchIO.parse(io.StringIO(sys.stdin.read()), 'hmmscan3-domtab')",
      'print(json.dumps([[r.id, [[h.id, [d.query_start for d in h]] for h in r]] for r in results]))',
    ].join('\n');
    const read = JSON.parse(
      execFileSync(PYTHON, ['-W', 'ignore', '-c', script], { input: table(), encoding: 'utf8' }),
    ) as unknown;
    expect(read).toEqual([
      [
        'P1',
        [
          ['alpha', [0, 200, 500, 300]],
          ['beta', [100, 400]],
        ],
      ],
      [
        'P2',
        [
          ['beta', [0]],
          ['alpha', [100]],
        ],
      ],
    ]);
  });
});
