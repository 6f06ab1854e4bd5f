import { closeSync, openSync, readSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openHashedFile } from '../hashed-file.js';

/** Words with the targets that have them, sorted in pieces that fit in memory. */
export interface Postings {
  /** Targets come in ascending order. */
  add(token: string, target: number): void;
  /** To be called now and then: writes down what has grown too large. */
  settle(): Promise<void>;
  finish(): Promise<SortedPostings>;
  drop(): Promise<void>;
}

export interface SortedPostings {
  /** Ascending by UTF-16 unit. */
  readonly tokens: readonly string[];
  readonly tokenOffsets: Uint32Array;
  readonly postingOffsets: Uint32Array;
  readonly values: Uint32Array;
}

type Entry = readonly [token: string, target: number];

const LINES_PER_WRITE = 8_192;
const READ_BYTES = 1 << 20;

export function createPostings(scratch: string, pieceMaxEntries: number): Postings {
  const pieces: string[] = [];
  let waiting: Entry[] = [];
  let count = 0;
  const spill = async (): Promise<void> => {
    const path = join(scratch, `names.${pieces.length}`);
    pieces.push(path);
    const file = await openHashedFile(path);
    const entries = sorted(waiting);
    for (let at = 0; at < entries.length; at += LINES_PER_WRITE) {
      const lines = entries.slice(at, at + LINES_PER_WRITE).map(([token, target]) => `${token} ${target}\n`);
      await file.write(Buffer.from(lines.join('')));
    }
    await file.finish();
    waiting = [];
  };
  const drop = async (): Promise<void> => {
    for (const path of pieces) await rm(path, { force: true });
  };
  return {
    add(token, target) {
      count += 1;
      waiting.push([token, target]);
    },
    async settle() {
      if (waiting.length > pieceMaxEntries) await spill();
    },
    drop,
    async finish() {
      const sources = [...pieces.map(readPiece), sorted(waiting)[Symbol.iterator]()];
      const result = collect(merge(sources), count);
      await drop();
      return result;
    },
  };
}

/** Equal tokens keep the order in which they came: sorting is stable. */
function sorted(entries: Entry[]): Entry[] {
  return entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

function* readPiece(path: string): Generator<Entry> {
  const file = openSync(path, 'r');
  try {
    const block = Buffer.allocUnsafeSlow(READ_BYTES);
    let rest: Buffer = Buffer.alloc(0);
    for (let bytes = readSync(file, block); bytes > 0; bytes = readSync(file, block)) {
      const text = Buffer.concat([rest, block.subarray(0, bytes)]);
      const end = text.lastIndexOf(10) + 1;
      rest = text.subarray(end);
      for (const line of text.toString('utf8', 0, Math.max(0, end - 1)).split('\n')) {
        const blank = line.lastIndexOf(' ');
        if (blank > 0) yield [line.slice(0, blank), Number(line.slice(blank + 1))];
      }
    }
  } finally {
    closeSync(file);
  }
}

/** Orders equal tokens by their piece, so that their targets ascend. */
function* merge(sources: readonly Iterator<Entry>[]): Generator<Entry> {
  const heads = sources.map((source) => source.next());
  for (;;) {
    let first = -1;
    for (let at = 0; at < heads.length; at += 1) {
      if (heads[at].done === true) continue;
      if (first < 0 || heads[at].value[0] < heads[first].value[0]) first = at;
    }
    if (first < 0) return;
    yield heads[first].value as Entry;
    heads[first] = sources[first].next();
  }
}

function collect(entries: Iterable<Entry>, count: number): SortedPostings {
  const tokens: string[] = [];
  const tokenEnds: number[] = [0];
  const starts: number[] = [];
  const values = new Uint32Array(count);
  let [at, end] = [0, 0];
  let last: string | undefined;
  for (const [token, target] of entries) {
    if (last !== token) {
      last = token;
      end += Buffer.byteLength(token);
      tokens.push(token);
      tokenEnds.push(end);
      starts.push(at);
    }
    values[at] = target;
    at += 1;
  }
  starts.push(at);
  return {
    tokens,
    tokenOffsets: Uint32Array.from(tokenEnds),
    postingOffsets: Uint32Array.from(starts),
    values,
  };
}
