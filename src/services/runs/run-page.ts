import type { Run } from '../../contract/runs/runs.js';
import type { JsonPieces } from '../../json/pieces.js';
import { RUN_PAGE_HEAD_BYTES, RUN_PAGE_MAX_BYTES } from '../../limits.js';
import type { RunRow } from '../../store/tables/runs.js';
import type { Page } from '../pages.js';
import { presentRun, ROW_SEPARATOR_BYTES } from './present.js';

/** A page of runs as JSON. Each run is written once: its text gives the size, and becomes part of the answer. */
export class RunPage {
  readonly #runs: Run[] = [];
  readonly #texts: Buffer[] = [];
  #bytes = RUN_PAGE_HEAD_BYTES;

  /** Adds a run unless the page would be too large. The first run is added whatever its size. */
  add(row: RunRow): boolean {
    const run = presentRun(row);
    const text = Buffer.from(JSON.stringify(run));
    const bytes = this.#bytes + text.length + ROW_SEPARATOR_BYTES;
    if (this.#runs.length > 0 && bytes > RUN_PAGE_MAX_BYTES) return false;
    this.#runs.push(run);
    this.#texts.push(text);
    this.#bytes = bytes;
    return true;
  }

  /** @param cursor  of the next page; null at the end */
  end(cursor: string | null): { readonly value: Page<Run>; readonly json: JsonPieces } {
    const empty: Page<Run> = { object: 'list', data: [], has_more: cursor !== null, next_cursor: cursor };
    const [head, rest] = JSON.stringify(empty).split('[]', 2);
    const data = this.#texts.flatMap((text, at) => (at === 0 ? [text] : [COMMA, text]));
    const json = [Buffer.from(`${head}[`), ...data, Buffer.from(`]${rest}`)];
    return { value: { ...empty, data: this.#runs }, json };
  }
}

const COMMA = Buffer.from(',');
