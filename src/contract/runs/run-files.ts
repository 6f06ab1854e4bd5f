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
        text('Names the bytes: `obj_` and their SHA-256. Equal bytes have equal ids, whoever wrote them.', {
          pattern: '^obj_[0-9a-f]{64}$',
        }),
      ),
      object_url: Type.Optional(
        text(
          'Serves these bytes and never others: once the file is replaced it is gone (410), once deleted not found.',
        ),
      ),
      file_id: text('File id.', { pattern: '^fil_[0-9a-f]{24}$' }),
      path: text('Where it stands in the storage of the organization.'),
      url: text('Its ordinary URL; `POST /v1/storage/file-signed-urls` makes one without credentials of it.'),
      content_type: text('Media type.'),
      size_bytes: count('Its length.'),
      checksum: sha256('SHA-256 of its bytes: equal content is stored once.'),
      checksum_algorithm: constant('sha256'),
      storage_version: text('Version of the file.'),
    },
    { chosen: true },
  ),
);

export const EXPORT_FORMATS = {
  fasta: 'each target once, in the order in which it was first found',
  tsv:
    'one line for each candidate, under a line of names: the table that `gloaming search --format tsv --alignments` ' +
    'writes; positions zero-based and half-open, an absent value is an empty cell',
  m8:
    'one line for each aligned candidate, in the twelve columns of BLAST outfmt 6; positions from 1; `missing` says ' +
    'what stands in place of E-value and bit score where no calibration supports them',
  blast: 'the same in the columns that `outfmt` names, with comments (`7`), or as BLAST XML (`5`)',
  mmseqs: 'the same in the columns of MMseqs2 that `format_output` names',
  a3m:
    'the alignment of one query: the query first, then the rows that `sequences.msa.build` would keep, by the same ' +
    'defaults; of all queries in a tar with `all_queries`',
  parquet: 'one row for each candidate, with all of its measurements',
  arrow: 'the columns of `parquet` as an Arrow IPC file',
} as const;

export type ExportFormatName = keyof typeof EXPORT_FORMATS;

const MISSING_TEXTS = {
  count: 'the number of searched targets as E-value, and 0 as bit score; the default',
  nan: '`nan` in both columns',
  empty: 'nothing in both columns',
} as const;

const Format = enumeration(EXPORT_FORMATS, { chosen: true });

export const ExportRunInput = named(
  'ExportRunInput',
  closed(
    {
      run_id: text('A completed run of `homology.search` or `homology.batch_search`.', {
        pattern: RunId.pattern,
      }),
      format: Format,
      query_index: Type.Optional(
        count(
          'Only the candidates of this query of a batch, the first is 0; `a3m` of a batch needs it, or `all_queries`.',
        ),
      ),
      all_queries: Type.Optional(flag('A tar of the alignments of all queries; of `a3m` only.')),
      outfmt: Type.Optional(
        text(
          'Of `blast`: `6`, `7` or `5`, then the names of columns that BLAST and DIAMOND give them, such as ' +
            '`6 qseqid sseqid pident evalue bitscore`; the twelve of `m8` where none are named. Default: `6`.',
          { minLength: 1, maxLength: EXPORT_FIELDS_MAX_CHARACTERS },
        ),
      ),
      format_output: Type.Optional(
        text(
          'Of `mmseqs`: names of columns between commas, as its `--format-output` takes them; its own twelve where ' +
            'there are none.',
          { minLength: 1, maxLength: EXPORT_FIELDS_MAX_CHARACTERS },
        ),
      ),
      missing: Type.Optional(
        enumeration(MISSING_TEXTS, {
          description:
            'Of `m8`, `blast` and `mmseqs`: text of an E-value and a bit score that the search does not have.',
        }),
      ),
      sort: Type.Optional(Sort),
      ...CUT_OFFS,
      msa: Type.Optional(MsaChoice),
      path: Type.Optional(
        text('Where the file is written; a file that stands there is replaced. Default: below `exports/`.', {
          minLength: 1,
          maxLength: RUN_OUTPUT_PATH_MAX_CHARACTERS,
        }),
      ),
    },
    {
      description:
        'The rows of a run as one file in storage, while you may see the database that was searched; ' +
        'its results stay readable after that.',
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
      query_index: Type.Optional(count('The query whose candidates they are.')),
      record_count: count('Records of the file: lines, rows or sequences, without the query of an A3M.'),
      omitted_count: count(
        'Candidates that are no record: not aligned, left out, or a target that is one already.',
      ),
      // Absent from exports of an earlier version.
      left_out_count: Type.Optional(count('Those of them that a cut-off left out.')),
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
