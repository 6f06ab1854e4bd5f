import { tableFromIPC } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { formatArrow } from '#src/cli/search/arrow.js';
import { formatJson } from '#src/cli/search/json.js';
import { formatA3m, formatFasta } from '#src/cli/search/sequences.js';
import { formatTsv } from '#src/cli/search/tsv.js';
import type { SearchReport } from '#src/cli/search/report.js';
import { each, layout, reportOf, textOf } from './reports.js';

const HEADER =
  'query_id target_id rank maxsim.bidirectional maxsim.query_to_target maxsim.target_to_query affine.raw_score ' +
  'affine.normalized_score significance.status significance.expected_false_hits';
const ALIGNMENT_HEADER = 'query_start query_end target_start target_end identity cigar';

const rowsOf = (text: string): string[][] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));

describe('search results as TSV', () => {
  it('have a header row with the promised names', async () => {
    const [header] = rowsOf(await textOf(formatTsv(each(reportOf()), layout)));
    expect(header.join(' ')).toBe(HEADER);
    const aligned = { ...layout, hasAlignments: true };
    const [longer] = rowsOf(await textOf(formatTsv(each(reportOf()), aligned)));
    expect(longer.join(' ')).toBe(`${HEADER} ${ALIGNMENT_HEADER}`);
  });

  it('have one header for all queries and one row for each candidate, with all digits', async () => {
    const rows = rowsOf(
      await textOf(formatTsv(each(reportOf({ eValues: [1e-9, 0.5, 12] }), reportOf()), layout)),
    );
    expect(rows).toHaveLength(7);
    expect(rows[1]).toEqual([
      'Q1',
      'P00001',
      '1',
      '-1.5e-7',
      '0.2',
      '0.3',
      '110',
      '1',
      'supported_empirical',
      '1e-9',
    ]);
  });

  it('leave empty what is absent: E-values without calibration, ends where nothing is aligned', async () => {
    const text = await textOf(formatTsv(each(reportOf()), { ...layout, hasAlignments: true }));
    expect(text.split('\n')[3]).toBe('Q1\tP00003\t3\t0.75\t0.2\t0.3\t0\t0\tnot_available\t\t\t\t\t\t\t');
  });

  it('keep a tab in an id from starting a new cell', async () => {
    const report = reportOf();
    const odd: SearchReport = { ...report, query: { ...report.query, id: 'a\tb' } };
    expect(rowsOf(await textOf(formatTsv(each(odd), layout)))[1]).toHaveLength(10);
  });

  it('are a header alone where there was no query', async () => {
    expect(await textOf(formatTsv(each(), layout))).toBe(`${HEADER.replaceAll(' ', '\t')}\n`);
  });
});

describe('search results as Arrow', () => {
  it('have the columns and values of the TSV, with nulls for what is absent', async () => {
    const chunks: Uint8Array[] = [];
    const reports = each(reportOf({ eValues: [1e-9, 0.5] }), reportOf());
    for await (const chunk of formatArrow(reports, { ...layout, hasAlignments: true }))
      chunks.push(chunk as Uint8Array);
    const table = tableFromIPC(Buffer.concat(chunks));
    expect(table.schema.fields.map(({ name }) => name).join(' ')).toBe(`${HEADER} ${ALIGNMENT_HEADER}`);
    expect(table.numRows).toBe(6);
    const row = (index: number) => table.get(index)!.toJSON();
    expect(row(0)).toMatchObject({
      query_id: 'Q1',
      target_id: 'P00001',
      rank: 1n,
      'maxsim.bidirectional': -1.5e-7,
    });
    expect(row(0)).toMatchObject({ 'significance.expected_false_hits': 1e-9, cigar: '22=', query_end: 22n });
    expect(row(2)).toMatchObject({
      'significance.expected_false_hits': null,
      cigar: null,
      target_start: null,
    });
  });

  it('have the schema also where there was no query', async () => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of formatArrow(each(), layout)) chunks.push(chunk as Uint8Array);
    const table = tableFromIPC(Buffer.concat(chunks));
    expect(table.numRows).toBe(0);
    expect(table.schema.fields).toHaveLength(10);
  });

  it('pass on the failure of a search instead of ending early', async () => {
    const failing = async function* (): AsyncGenerator<SearchReport> {
      yield reportOf();
      throw new Error('the disk is gone');
    };
    const read = async (): Promise<void> => {
      for await (const chunk of formatArrow(failing(), layout)) expect(chunk.length).toBeGreaterThan(0);
    };
    await expect(read()).rejects.toThrow('the disk is gone');
  });
});

describe('search results as JSON', () => {
  it('are one object per line, in the words of the homology route', async () => {
    const lines = (await textOf(formatJson(each(reportOf(), reportOf())))).trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    const answer = JSON.parse(lines[0]) as Record<string, unknown>;
    expect(answer).toMatchObject({
      object: 'homology_candidate_set',
      query: { id: 'Q1', normalized_length: 22 },
      database: { slug: 'tiny', searched_target_count: 1_234 },
      is_result_limit_reached: true,
      evidence_summary: { requested: 'pairwise_sequence_alignment' },
    });
  });

  it('are the same text for the same search', async () => {
    expect(await textOf(formatJson(each(reportOf())))).toBe(await textOf(formatJson(each(reportOf()))));
  });
});

describe('search results as sequences', () => {
  it('are whole candidates in FASTA, best first, each saying for which query and how near', async () => {
    expect(await textOf(formatFasta(each(reportOf())))).toBe(
      '>P00001 Query itself query=Q1 rank=1 distance=0.0000 score=110\nMKTAYIAKQRQISFVKSHFSRQ\n' +
        '>P00002 Uncharacterized protein with a name that goes on and on query=Q1 rank=2 distance=0.2500 score=61\n' +
        'GGMRTAYLAKQRAAQISFIKSHGG\n' +
        '>P00003 query=Q1 rank=3 distance=0.7500 score=0\nGGGGGGGG\n',
    );
  });

  it('are an alignment over the query in A3M, without the candidates that nothing aligns', async () => {
    expect(await textOf(formatA3m(each(reportOf())))).toBe(
      '>Q1\nMKTAYIAKQRQISFVKSHFSRQ\n' +
        '>P00001/1-22\nMKTAYIAKQRQISFVKSHFSRQ\n' +
        '>P00002/3-21\nMRTAYLAKQRaaQISFIKS-----\n',
    );
  });
});
