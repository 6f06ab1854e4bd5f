import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { jsonInTurns, type JsonPieces } from '../../json/pieces.js';
import { RUN_BLOCK_MAX_BYTES, RUN_BLOCK_MAX_ROWS } from '../../limits.js';
import { Slice } from '../../turns.js';
import type { ControlStore, Table } from '../control-store.js';

const pack = promisify(gzip);
const unpack = promisify(gunzip);
const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** Consecutive rows of a result, as stored. */
export interface RowBlock {
  readonly rowCount: number;
  /** Gzip of a JSON array. */
  readonly packed: Buffer;
}

/** Consecutive rows as gzip of a JSON array. */
interface PackedBlock {
  readonly firstRow: number;
  readonly packed: Uint8Array;
}

/** A stored block and the index of its first row in the result. */
interface FoundBlock {
  readonly firstRow: number;
  readonly rows: readonly unknown[];
}

/** The table `run-rows`: results of runs in blocks. Rows are added at the end and never change. */
export class RunRowTable {
  readonly #blocks: Table<Buffer>;

  constructor(store: ControlStore) {
    this.#blocks = store.bytes('run-rows');
  }

  /** Appends blocks. Only inside a transaction. */
  add(runId: string, rowCount: number, added: readonly RowBlock[]): void {
    let firstRow = rowCount;
    for (const block of added) {
      this.#blocks.putSync(keyOf(runId, firstRow), block.packed);
      firstRow += block.rowCount;
    }
  }

  /** Block that holds this row; undefined if the run has no such row. */
  async blockAt(runId: string, row: number): Promise<FoundBlock | undefined> {
    const packed = this.packedBlockAt(runId, row);
    if (packed === undefined) return undefined;
    const { firstRow } = packed;
    const rows = await unpackRows(packed.packed);
    return row < firstRow + rows.length ? { firstRow, rows } : undefined;
  }

  /**
   * Packed block that holds this row, for a caller that unpacks it elsewhere. The last block for rows beyond the end.
   */
  packedBlockAt(runId: string, row: number): PackedBlock | undefined {
    const range = { start: keyOf(runId, row), end: `${runId} `, reverse: true, limit: 1 };
    const [block] = [...this.#blocks.getRange(range)];
    if (block === undefined) return undefined;
    return { firstRow: Number(block.key.slice(runId.length + 1)), packed: block.value };
  }

  /** Only inside a transaction. */
  drop(runId: string): void {
    const keys = this.#blocks.getKeys({ start: `${runId} `, end: `${runId}!` });
    for (const key of [...keys]) this.#blocks.removeSync(key);
  }
}

/**
 * Packs rows into blocks of bounded size, off the event loop. Each row keeps its own JSON text. Errors  those of zlib
 */
export async function packRows(
  rows: Iterable<unknown> | AsyncIterable<unknown>,
): Promise<readonly RowBlock[]> {
  const blocks: RowBlock[] = [];
  const slice = new Slice();
  let texts: JsonPieces[] = [];
  let length = 0;
  const close = async (): Promise<void> => {
    if (texts.length === 0) return;
    const json = Buffer.concat([
      OPEN,
      ...texts.flatMap((text, index) => (index === 0 ? text : [COMMA, ...text])),
      CLOSE,
    ]);
    blocks.push({ rowCount: texts.length, packed: await packBytes(json) });
    texts = [];
    length = 0;
  };
  for await (const row of rows) {
    const text = await jsonInTurns(row as object);
    const bytes = text.reduce((sum, piece) => sum + piece.length, 0);
    if (texts.length >= RUN_BLOCK_MAX_ROWS || length + bytes > RUN_BLOCK_MAX_BYTES) await close();
    texts.push(text);
    length += bytes;
    if (slice.isOver) await slice.pause();
  }
  await close();
  return blocks;
}

/** Packs at the fastest level, which already shrinks JSON of candidates to a fifth. Errors  those of zlib */
export function packBytes(bytes: Uint8Array): Promise<Buffer> {
  return pack(bytes, { level: 1 });
}

export async function unpackRows(packed: Uint8Array): Promise<readonly unknown[]> {
  return JSON.parse((await unpackBytes(packed)).toString('utf8')) as readonly unknown[];
}

export async function unpackBytes(packed: Uint8Array): Promise<Buffer> {
  return unpack(packed);
}

function keyOf(runId: string, firstRow: number): string {
  return `${runId} ${String(firstRow).padStart(9, '0')}`;
}
