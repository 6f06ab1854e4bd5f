import type { Warning } from '../../contract/grammar/envelope.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import { assert } from '../../errors.js';
import { homologRows } from '../msa/homolog-rows.js';
import { candidateRow } from '../msa/rows.js';
import {
  decideParameters,
  passingRows,
  selectRows,
  warningsOf,
  type MsaOptions,
} from '../msa/select-rows.js';
import { a3mPieces } from '../msa/text.js';
import { idText } from './fields.js';
import type { ExportEncoder, ExportQuery } from './rows.js';
import { TAR_END, tarEntry } from './tar.js';

/** A3M of one query, as `sequences.msa.build` writes it, under the query's own name. */
export class A3mEncoder implements ExportEncoder {
  readonly #options: MsaOptions;
  #recordCount = 0;
  #leftOutCount = 0;
  #warnings: readonly Warning[] = [];

  constructor(options: MsaOptions) {
    this.#options = options;
  }

  get leftOutCount(): number {
    return this.#leftOutCount;
  }

  get warnings(): readonly Warning[] {
    return this.#warnings;
  }

  /** Rows without the query. */
  get recordCount(): number {
    return this.#recordCount;
  }

  /** Errors  Refusal `significance_unavailable`, `msa_too_large` */
  async add(query: ExportQuery, candidates: readonly HomologyCandidate[]): Promise<Uint8Array> {
    const { sequence, homologs = [] } = query;
    assert(sequence !== undefined, 'an alignment is over its query');
    const aligned = candidates.flatMap((candidate) => {
      const row = candidateRow(candidate, sequence);
      return row === undefined ? [] : [{ row, target: candidate.target }];
    });
    const own = aligned.map(({ row }) => row);
    const parameters = decideParameters(own, this.#options);
    const passing = new Set(passingRows(own, parameters));
    const proteins = new Map(
      aligned.filter(({ row }) => passing.has(row)).map(({ target }) => [target.id, target.sequence]),
    );
    const lastRank = Math.max(0, ...own.map(({ evidence }) => evidence.rank));
    const possible = [...own, ...homologRows(homologs, sequence, proteins, lastRank)];
    const { rows, filteredCount } = await selectRows(possible, sequence, parameters, UNENDING);
    this.#recordCount += rows.length;
    this.#leftOutCount += filteredCount;
    if (this.#warnings.length === 0) this.#warnings = warningsOf(parameters);
    return Buffer.from(a3mPieces(sequence, rows, idText(query.id)).join(''));
  }

  end(): Uint8Array {
    return Buffer.alloc(0);
  }
}

/** A signal that never aborts. The work ends with its thread or process. */
const UNENDING = new AbortController().signal;

/** A tar of A3M files, one for each query, named by its position and its id. */
export class A3mTarEncoder implements ExportEncoder {
  readonly #a3m: A3mEncoder;

  constructor(options: MsaOptions) {
    this.#a3m = new A3mEncoder(options);
  }

  get leftOutCount(): number {
    return this.#a3m.leftOutCount;
  }

  get warnings(): readonly Warning[] {
    return this.#a3m.warnings;
  }

  get recordCount(): number {
    return this.#a3m.recordCount;
  }

  async add(query: ExportQuery, candidates: readonly HomologyCandidate[]): Promise<Uint8Array> {
    return tarEntry(alignmentFileName(query), await this.#a3m.add(query, candidates));
  }

  end(): Uint8Array {
    return TAR_END;
  }
}

/** Name of the file of one query's alignment, by its position and its id. */
export function alignmentFileName({ index, id }: Pick<ExportQuery, 'index' | 'id'>): string {
  return `${index}-${id.replaceAll(/[^\w.-]/g, '_').slice(0, NAME_MAX_CHARACTERS)}.a3m`;
}

/** With its position and its extension, a name has at most 100 bytes. */
const NAME_MAX_CHARACTERS = 80;
