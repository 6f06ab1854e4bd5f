import type { ExportFormatName } from '../../contract/runs/run-files.js';
import { ArrowEncoder } from './arrow.js';
import { ParquetEncoder } from './parquet.js';
import type { ExportEncoder } from './rows.js';
import { a3mEncoder, fastaEncoder, tsvEncoder } from './text.js';

export interface ExportFormat {
  readonly extension: string;
  readonly contentType: string;
  /** A candidate without alignment is no record of it. */
  readonly needsAlignments: boolean;
  /** Holds the candidates of one query, and its sequence. */
  readonly needsQuery: boolean;
  /** @param query sequence of the query, where the format needs it */
  encoder(query: string): ExportEncoder;
}

const TEXT = 'text/plain; charset=utf-8';

/** How each format of the contract is written. */
export const FORMATS: Readonly<Record<ExportFormatName, ExportFormat>> = {
  fasta: {
    extension: 'fasta',
    contentType: TEXT,
    needsAlignments: false,
    needsQuery: false,
    encoder: fastaEncoder,
  },
  tsv: {
    extension: 'tsv',
    contentType: 'text/tab-separated-values; charset=utf-8',
    needsAlignments: true,
    needsQuery: false,
    encoder: tsvEncoder,
  },
  a3m: {
    extension: 'a3m',
    contentType: TEXT,
    needsAlignments: true,
    needsQuery: true,
    encoder: a3mEncoder,
  },
  parquet: {
    extension: 'parquet',
    contentType: 'application/vnd.apache.parquet',
    needsAlignments: false,
    needsQuery: false,
    encoder: () => new ParquetEncoder(),
  },
  arrow: {
    extension: 'arrow',
    contentType: 'application/vnd.apache.arrow.file',
    needsAlignments: false,
    needsQuery: false,
    encoder: () => new ArrowEncoder(),
  },
};
