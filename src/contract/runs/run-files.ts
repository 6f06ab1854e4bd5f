import { Type, type Static } from '@sinclair/typebox';
import { EXPORT_FIELDS_MAX_CHARACTERS, RUN_OUTPUT_PATH_MAX_CHARACTERS } from '../../limits.js';
import { Warning } from '../grammar/envelope.js';
import { MsaChoice } from '../msa.js';
import { CUT_OFFS, Sort } from '../search/selection.js';
import { closed, constant, count, enumeration, flag, named, sha256, text } from '../grammar/schema.js';

/* Runs that write files to storage. */

export const RunId = text('Run id.', { pattern: '^run_[0-9a-f]{24}$' });

/** A file that a run has written. It behaves like any other file. */
export const RunFile = named(
  'RunFile',
  closed(
    {
      // Absent from files of an earlier version.
      object_id: Type.Optional(
        text(
          'Id of the content: `obj_` and the SHA-256 of the bytes. Files with equal bytes have equal ids, ' +
            'in all organizations.',
          {
            pattern: '^obj_[0-9a-f]{64}$',
          },
        ),
      ),
      object_url: Type.Optional(
        text(
          'URL of exactly these bytes. The status is 410 after the file is replaced, and 404 after the file ' +
            'is deleted.',
        ),
      ),
      file_id: text('File id.', { pattern: '^fil_[0-9a-f]{24}$' }),
      path: text('Path of the file in the storage of the organization.'),
      url: text(
        'Ordinary URL of the file. `POST /v1/storage/file-signed-urls` creates a signed URL from it, ' +
          'which needs no credentials.',
      ),
      content_type: text('Media type of the file.'),
      size_bytes: count('Size of the file in bytes.'),
      checksum: sha256('SHA-256 of the file. Equal content is stored once.'),
      checksum_algorithm: constant('sha256'),
      storage_version: text('Version of the file.'),
    },
    { chosen: true },
  ),
);

export const EXPORT_FORMATS = {
  fasta: 'each target once, in the order in which it was first found',
  tsv:
    'one line for each alignment of a candidate, below a header line: the table of `gloaming search ' +
    '--format tsv --alignments`; positions are zero-based and half-open, an absent value is an empty ' +
    'cell',
  m8:
    'one line for each alignment, in the twelve columns of BLAST outfmt 6; positions start at 1; ' +
    '`missing` selects the text for an E-value or bit score that no calibration supports',
  blast:
    'one line for each alignment, in the columns of `outfmt`; with comment lines (`7`), or as BLAST ' +
    'XML (`5`)',
  mmseqs: 'one line for each alignment, in the MMseqs2 columns of `format_output`',
  a3m:
    'multiple sequence alignment of one query: the query first, then the rows that ' +
    '`sequences.msa.build` would select with the same defaults; with `all_queries`, a tar of the ' +
    'alignments of all queries',
  parquet: 'one row for each alignment of a candidate, with all measurements',
  arrow: 'the rows and columns of `parquet` as an Arrow IPC file',
} as const;

export type ExportFormatName = keyof typeof EXPORT_FORMATS;

const MISSING_TEXTS = {
  count: 'the number of searched targets as E-value, and 0 as bit score (default)',
  nan: '`nan` in both columns',
  empty: 'empty text in both columns',
} as const;

const Format = enumeration(EXPORT_FORMATS, { chosen: true });

export const ExportRunInput = named(
  'ExportRunInput',
  closed(
    {
      run_id: text('Id of a completed run of `homology.search` or `homology.batch_search`.', {
        pattern: RunId.pattern,
      }),
      format: Format,
      query_index: Type.Optional(
        count(
          'Zero-based index of one query of a batch. The file then has only the candidates of this query. ' +
            '`a3m` of a batch requires `query_index` or `all_queries`.',
        ),
      ),
      all_queries: Type.Optional(
        flag('Exports the alignments of all queries as a tar file. Valid for `a3m` only.'),
      ),
      outfmt: Type.Optional(
        text(
          'Valid for `blast` only: `6`, `7` or `5`, then names of columns as in BLAST and DIAMOND, such as ' +
            '`6 qseqid sseqid pident evalue bitscore`. Without names, the columns are the twelve of `m8`. ' +
            'Default: `6`.',
          { minLength: 1, maxLength: EXPORT_FIELDS_MAX_CHARACTERS },
        ),
      ),
      format_output: Type.Optional(
        text(
          'Valid for `mmseqs` only: comma-separated names of columns, as in the MMseqs2 option ' +
            '`--format-output`. Default: the twelve default columns of MMseqs2.',
          { minLength: 1, maxLength: EXPORT_FIELDS_MAX_CHARACTERS },
        ),
      ),
      missing: Type.Optional(
        enumeration(MISSING_TEXTS, {
          description:
            'Valid for `m8`, `blast` and `mmseqs` only: text for an E-value or bit score that the search does ' +
            'not have.',
        }),
      ),
      sort: Type.Optional(Sort),
      ...CUT_OFFS,
      msa: Type.Optional(MsaChoice),
      path: Type.Optional(
        text(
          'Path of the new file. An existing file at this path is replaced. Default: a path below ' +
            '`exports/`.',
          {
            minLength: 1,
            maxLength: RUN_OUTPUT_PATH_MAX_CHARACTERS,
          },
        ),
      ),
    },
    {
      description:
        'Writes the rows of a run to one file in storage. The organization must have access to the ' +
        'searched database. The results of the run itself stay readable after this access ends.',
      chosen: true,
    },
  ),
);

export const ExportRunSummary = named(
  'ExportRunSummary',
  closed(
    {
      object: constant('homology_export_summary'),
      run_id: RunId,
      format: Format,
      query_index: Type.Optional(count('Zero-based index of the exported query.')),
      record_count: count(
        'Number of records in the file: lines, rows or sequences, without the query of an A3M.',
      ),
      omitted_count: count(
        'Number of candidates without a record. A candidate has none if it is not aligned, is left out, or is a ' +
          'target that already has a record.',
      ),
      // Absent from exports of an earlier version.
      candidate_count: Type.Optional(
        count(
          'Number of candidates in the exported rows of the run, and of propagated hits that are no candidates.',
        ),
      ),
      left_out_count: Type.Optional(count('Number of candidates that a cut-off left out.')),
      warnings: Type.Optional(Type.Array(Warning)),
      file: RunFile,
    },
    { chosen: true },
  ),
);

export type RunFile = Static<typeof RunFile>;
export type ExportRunInput = Static<typeof ExportRunInput>;
/** Text of an absent E-value and bit score. */
export type Missing = keyof typeof MISSING_TEXTS;
export type ExportRunSummary = Static<typeof ExportRunSummary>;
