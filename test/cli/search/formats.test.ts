// @module-tag fast

import { tableFromIPC } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { formatArrow, formatAsExport, formatFasta, formatTsv } from '#src/cli/search/encoded.js';
import { formatJson } from '#src/cli/search/json.js';
import type { SearchReport } from '#src/cli/search/report.js';
import { formatOf, type ExportOptions } from '#src/services/export/formats.js';
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

describe('a candidate with several alignments', () => {
  const report = (): SearchReport => reportOf({ eValues: [1e-9, 1e-5, 12], hasFurther: true });
  const exported = (options: ExportOptions): Promise<string> =>
    textOf(formatAsExport(each(report()), formatOf(options), { stderr: process.stderr }));

  it('has a row for each, with the coordinates, score and E-value of the alignment', async () => {
    const outfmt = '6 sseqid qstart qend sstart send score evalue qcovs qcovhsp';
    expect(rowsOf(await exported({ format: 'blast', outfmt }))).toEqual([
      ['P00001', '1', '22', '1', '22', '110', '1.00e-9', '100', '100'],
      ['P00002', '1', '17', '3', '21', '61', '1.00e-5', '95', '77'],
      ['P00002', '19', '22', '1', '4', '30', '0.004', '95', '18'],
    ]);
    const mmseqs = await exported({ format: 'mmseqs', format_output: 'target,qstart,tend,evalue' });
    expect(rowsOf(mmseqs)[2]).toEqual(['P00002', '19', '4', '0.004']);
    const aligned = rowsOf(await textOf(formatTsv(each(report()), { ...layout, hasAlignments: true })));
    expect(aligned).toHaveLength(5);
    expect(aligned[3]!.slice(1, 3)).toEqual(['P00002', '2']);
    expect(aligned[3]!.slice(9, 14)).toEqual(['0.004', '18', '22', '0', '4']);
  });

  it.each(['m8', 'tsv', 'parquet', 'arrow', 'fasta'] as const)(
    'counts once among the candidates that %s has',
    async (format) => {
      const { candidates } = JSON.parse(await textOf(formatJson(each(report()))));
      const search = { database: 'demo', targetCount: 3, residueCount: 66 };
      const encoder = formatOf({ format }).encoder(search);
      await encoder.add({ index: 0, id: 'Q1' }, candidates);
      const aligned = { records: 3, targets: 2 };
      const all = { records: 4, targets: 3 };
      const expected = {
        m8: aligned,
        tsv: all,
        parquet: all,
        arrow: all,
        fasta: { records: 3, targets: 3 },
      };
      expect({ records: encoder.recordCount, targets: encoder.targetCount }).toEqual(expected[format]);
    },
  );

  it('is one hit of the XML with an HSP for each', async () => {
    const xml = await exported({ format: 'blast', outfmt: '5' });
    expect(xml.match(/<Hit>/g)).toHaveLength(2);
    expect(
      [...xml.matchAll(/<Hsp_num>(\d)<.*?<Hsp_query-from>(\d+)</gs)].map(([, ...found]) => found),
    ).toEqual([
      ['1', '1'],
      ['1', '1'],
      ['2', '19'],
    ]);
  });

  it('has them in JSON beside the best one, and says whether there are more', async () => {
    const { candidates } = JSON.parse(await textOf(formatJson(each(report()))));
    expect(candidates[1].alignment.query_start).toBe(0);
    expect(candidates[1].is_alignment_limit_reached).toBe(true);
    expect(candidates[1].alignments).toMatchObject([
      { raw_score: 61, expected_false_hits: 1e-5, alignment: candidates[1].alignment },
      { raw_score: 30, expected_false_hits: 0.004, bit_score: 8, alignment: { query_start: 18 } },
    ]);
    const [plain] = JSON.parse(await textOf(formatJson(each(reportOf())))).candidates;
    expect(plain).not.toHaveProperty('alignments');
  });

  it('is one record of FASTA', async () => {
    expect((await textOf(formatFasta(each(report())))).match(/^>/gm)).toHaveLength(3);
  });
});

describe('a table of another program', () => {
  const tableOf = (report: SearchReport, options: ExportOptions): Promise<string> =>
    textOf(formatAsExport(each(report), formatOf(options), { stderr: process.stderr }));
  const aligned = reportOf({ eValues: [1e-9, 1e-5, 12] });
  const candidates = aligned.result.candidates.map((candidate) => ({ ...candidate, alignment: undefined }));
  const measured: SearchReport = { ...aligned, result: { ...aligned.result, candidates } };

  it.each([
    { format: 'mmseqs', format_output: 'query,target,evalue,bits,raw,tlen,taxid,theader' },
    { format: 'blast', outfmt: '6 qseqid sseqid evalue bitscore score slen stitle' },
    { format: 'blast', outfmt: '7 qseqid sseqid evalue' },
  ] satisfies ExportOptions[])(
    'has the same rows with and without alignments if no column needs them: %o',
    async (options) => {
      const table = await tableOf(measured, options);
      expect(table).toBe(await tableOf(aligned, options));
      // The third candidate has an affine score of 0, so that no alignment of it exists.
      expect(table).toMatch(/P00001[^]*P00002/);
      expect(table).not.toContain('P00003');
    },
  );
});

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
      '0',
      '0.2',
      '0.3',
      '110',
      '1',
      'supported_empirical',
      '1e-9',
    ]);
  });

  it('leave absent values empty: E-values without calibration, ends without alignment', async () => {
    const text = await textOf(formatTsv(each(reportOf()), { ...layout, hasAlignments: true }));
    expect(text.split('\n')[3]).toBe('Q1\tP00003\t3\t0.75\t0.2\t0.3\t0\t0\tnot_available\t\t\t\t\t\t\t');
  });

  it('keep a tab in an id from starting a new cell', async () => {
    const report = reportOf();
    const odd: SearchReport = { ...report, query: { ...report.query, id: 'a\tb' } };
    expect(rowsOf(await textOf(formatTsv(each(odd), layout)))[1]).toHaveLength(10);
  });

  it('have only a header if there is no query', async () => {
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
      'maxsim.bidirectional': 0,
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
    // The second query finds the same proteins.
    expect(await textOf(formatFasta(each(reportOf(), reportOf())))).toBe(
      '>P00001 Query itself query=Q1 rank=1 distance=0.0000 score=110\nMKTAYIAKQRQISFVKSHFSRQ\n' +
        '>P00002 Uncharacterized protein with a name that goes on and on query=Q1 rank=2 distance=0.2500 score=61\n' +
        'GGMRTAYLAKQRAAQISFIKSHGG\n' +
        '>P00003 query=Q1 rank=3 distance=0.7500 score=0\nGGGGGGGG\n',
    );
  });
});

describe('search results in the formats of the field', () => {
  const notices: string[] = [];
  const context = { stderr: { write: (text: string) => notices.push(text) } } as never;
  const written = (exportOptions: ExportOptions, ...reports: SearchReport[]): Promise<string> =>
    textOf(formatAsExport(each(...reports), formatOf(exportOptions), context));
  const judged = reportOf({ eValues: [1e-9, 0.0123456, 12] });

  it('are an alignment over the query in A3M, of what is likely to be related', async () => {
    notices.length = 0;
    expect(await written({ format: 'a3m' }, judged)).toBe('>Q1\nMKTAYIAKQRQISFVKSHFSRQ\n');
    expect(notices.join('')).toContain('0 rows besides the query; 1 candidates are not likely enough');
    const exportOptions = { format: 'a3m', maximum_expected_false_hits: 1 } as const;
    expect(await written(exportOptions, judged)).toBe(
      '>Q1\nMKTAYIAKQRQISFVKSHFSRQ\n' +
        '>P00002 E=1.2e-2 identity=0.737 coverage=0.773 score=61 query=1-17 target=3-21/24\n' +
        'MRTAYLAKQRaaQISFIKS-----\n',
    );
  });

  it('have homologs of a source as rows of the alignment, by E-value and each protein once', async () => {
    const homolog = {
      id: 'H1',
      expected_false_hits: 1e-4,
      round: 2,
      query_coverage_ratio: 1,
      sequence_identity_ratio: 20 / 23,
      cigar: '1=1X10=1I1D9X',
      query_start: 0,
      query_end: 22,
      target_start: 4,
      target_end: 26,
      target_length: 30,
      residues: 'MRTAYIAKQRQISGGKSHFSRQ',
    };
    const [found] = judged.result.candidates.slice(1);
    const residues = 'MRTAYLAKQRAAQISFIKS';
    const homologs = [homolog, { ...homolog, id: 'P00002', residues }, { ...homolog, id: 'P00002' }];
    const options = { format: 'a3m', sort: 'evalue', maximum_expected_false_hits: 1 } as const;
    const rows = (await written(options, { ...judged, homologs })).split('\n');
    expect(rows.filter((line) => line.startsWith('>')).map((line) => line.split(' ')[0])).toEqual([
      '>Q1',
      '>H1',
      '>P00002',
    ]);
    expect(rows[2]).toBe('>H1 E=1.0e-4 identity=0.870 coverage=1.000 query=1-22 target=5-26/30');
    expect(rows[3]).toBe('MRTAYIAKQRQI-sGGKSHFSRQ');
    expect(found!.targetIndex).toBe(1);
    // A bound that leaves out the candidate of the database lets the homolog of the same protein stay.
    const strict = await written({ ...options, maximum_expected_false_hits: 1e-3 }, { ...judged, homologs });
    expect(strict.match(/>P00002/g)).toHaveLength(1);
    expect(strict).toContain('>P00002 E=1.0e-4');
  });

  it('are the columns of BLAST and DIAMOND, in the order in which they are named', async () => {
    const names =
      'qseqid sseqid pident length mismatch gapopen qstart qend sstart send evalue bitscore qlen slen qcovs ' +
      'staxids stitle qseq sseq cigar btop positive ppos nident gaps qcovhsp scovhsp sscinames score full_qseq';
    const rows = rowsOf(await written({ format: 'blast', outfmt: `6 ${names}` }, judged));
    expect(rows).toHaveLength(2);
    const row = Object.fromEntries(names.split(' ').map((name, at) => [name, rows[1][at]]));
    expect(row).toEqual({
      qseqid: 'Q1',
      sseqid: 'P00002',
      pident: '73.684',
      length: '19',
      mismatch: '3',
      gapopen: '1',
      qstart: '1',
      qend: '17',
      sstart: '3',
      send: '21',
      evalue: '0.0123',
      bitscore: '6.3',
      qlen: '22',
      slen: '24',
      qcovs: '77',
      staxids: 'N/A',
      stitle: 'Uncharacterized protein with a name that goes on and on',
      qseq: 'MKTAYIAKQR--QISFVKS',
      sseq: 'MRTAYLAKQRAAQISFIKS',
      cigar: '10M2D7M',
      btop: '1KR3IL4-A-A4VI2',
      positive: '17',
      ppos: '89.47',
      nident: '14',
      gaps: '2',
      qcovhsp: '77',
      scovhsp: '79',
      sscinames: 'N/A',
      score: '61',
      full_qseq: 'MKTAYIAKQRQISFVKSHFSRQ',
    });
  });

  it('are the columns of MMseqs2 under its names', async () => {
    const exportOptions = {
      format: 'mmseqs',
      format_output: 'query,target,fident,qcov,tcov,cigar,bits,taxid,evalue,qaln',
    };
    const [, row] = rowsOf(await written(exportOptions as ExportOptions, judged));
    expect(row.join(' ')).toBe('Q1 P00002 0.737 0.773 0.792 10M2D7M 6 0 0.01235 MKTAYIAKQR--QISFVKS');
    const [first] = rowsOf(await written({ format: 'mmseqs' }, judged));
    expect(first).toHaveLength(12);
  });

  it('have a number everywhere: without calibration, as many false hits as were searched, and no bits', async () => {
    for (const row of rowsOf(await written({ format: 'm8' }, reportOf()))) {
      expect(row.slice(-2)).toEqual(['1234', '0.0']);
      expect(row.join(' ')).not.toMatch(/nan|undefined|null/i);
    }
  });

  it('refuse columns that are not there, and numbers of formats that are not written', () => {
    for (const [exportOptions, message] of [
      [{ format: 'blast', outfmt: '6 qseqid evlaue' }, /no column "evlaue"/],
      [{ format: 'blast', outfmt: '0' }, /6, 7 or 5/],
      [{ format: 'blast', outfmt: '5 qseqid' }, /6, 7 or 5/],
      [{ format: 'mmseqs', format_output: 'query,sseqid' }, /no column "sseqid"/],
      [{ format: 'blast', outfmt: `6${' evalue'.repeat(65)}` }, /at most 64/],
      [{ format: 'mmseqs', format_output: 'constructor' }, /no column/],
    ] as const)
      expect(() => formatOf(exportOptions)).toThrow(message);
  });

  it('state the number of hits of each query in the comments of outfmt 7', async () => {
    const empty = { ...judged, result: { ...judged.result, candidates: [] } };
    const text = await written({ format: 'blast', outfmt: '7 qseqid evalue' }, judged, empty);
    expect(text.split('\n').filter((line) => line.startsWith('#'))).toEqual([
      '# GLOAMING in the columns of BLASTP',
      '# Query: Q1',
      '# Database: tiny',
      '# Fields: query id, evalue',
      '# 2 hits found',
      '# GLOAMING in the columns of BLASTP',
      '# Query: Q1',
      '# Database: tiny',
      '# 0 hits found',
      '# BLAST processed 2 queries',
    ]);
  });

  it('are XML whatever an id holds', async () => {
    const odd = { ...judged, query: { ...judged.query, id: 'a<b>&"c\u0001' } };
    const text = await written({ format: 'blast', outfmt: '5' }, odd);
    expect(text).toContain('<Iteration_query-def>a&lt;b&gt;&amp;&quot;c </Iteration_query-def>');
    expect(text).toContain('<Hsp_midline>M+TAY+AKQR  QISF+KS</Hsp_midline>');
  });
});
