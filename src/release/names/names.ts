import { read } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../errors.js';
import { NAMES_FILE } from '../format.js';
import { NAMES_HEADER_BYTES, paddingOf, readNamesHeader, type NamesCounts } from './format.js';
import { TRIGRAM_COUNT } from './text.js';

/** The names of a release's targets, on disk; names-search.ts looks for one. */
export interface NamesIndex {
  readonly targetCount: number;
  readonly tokenCount: number;
  token(index: number): string;
  /** The first token that is not less than this text. */
  firstToken(text: string): number;
  /** Targets that have the token; at most `limit`, the first ones. */
  targetsOf(token: number, limit: number): Promise<Uint32Array>;
  targetCountOf(token: number): number;
  /** Tokens that have the trigram. */
  tokensWith(trigram: number): Promise<Uint32Array>;
  tokenCountWith(trigram: number): number;
  /** Id and names, in the order of NAME_FIELDS; empty where a target has none. */
  names(target: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

/**
 * Opens the names of a release folder; its manifest lists them.
 * Errors  Fault where the file is not what its header says
 * Cost    holds some 40 bytes a target; the rest is read when it is asked for
 */
export async function openNames(directory: string): Promise<NamesIndex> {
  const path = join(directory, NAMES_FILE);
  const handle = await open(path, 'r');
  try {
    const header = await readAt(handle, 0, NAMES_HEADER_BYTES);
    const counts = readNamesHeader(header);
    if (counts === undefined) throw new Error('its header is unknown');
    const places = placesOf(counts);
    const { size } = await handle.stat();
    if (size !== places.end) throw new Error(`it has ${size} bytes instead of ${places.end}`);
    return await openSections(handle, counts, places);
  } catch (cause) {
    await handle.close();
    throw new Fault(`${path} cannot be read; gloaming index verify says whether it was changed.`, { cause });
  }
}

type Places = Readonly<
  Record<'rowOffsets' | 'rows' | 'tokenOffsets' | 'tokens' | 'postingOffsets' | 'postings', number>
> &
  Readonly<Record<'trigramOffsets' | 'trigrams' | 'end', number>>;

/** Where each section begins. */
function placesOf({ targets, tokens, postings, rowBytes, tokenBytes, trigrams }: NamesCounts): Places {
  let at = NAMES_HEADER_BYTES;
  const take = (bytes: number): number => {
    const start = at;
    at += bytes + paddingOf(bytes);
    return start;
  };
  return {
    rowOffsets: take(8 * (targets + 1)),
    rows: take(rowBytes),
    tokenOffsets: take(4 * (tokens + 1)),
    tokens: take(tokenBytes),
    postingOffsets: take(4 * (tokens + 1)),
    postings: take(4 * postings),
    trigramOffsets: take(4 * (TRIGRAM_COUNT + 1)),
    trigrams: take(4 * trigrams),
    end: at,
  };
}

async function openSections(handle: FileHandle, counts: NamesCounts, places: Places): Promise<NamesIndex> {
  const numbers = async (start: number, count: number): Promise<Uint32Array> => {
    const bytes = await readAt(handle, start, 4 * count);
    return new Uint32Array(bytes.buffer, bytes.byteOffset, count);
  };
  const tokenOffsets = await numbers(places.tokenOffsets, counts.tokens + 1);
  const text = await readAt(handle, places.tokens, counts.tokenBytes);
  const postingOffsets = await numbers(places.postingOffsets, counts.tokens + 1);
  const trigramOffsets = await numbers(places.trigramOffsets, TRIGRAM_COUNT + 1);
  const rowBytes = await readAt(handle, places.rowOffsets, 8 * (counts.targets + 1));
  const rowOffsets = new BigUint64Array(rowBytes.buffer, rowBytes.byteOffset, counts.targets + 1);
  const token = (index: number): string =>
    text.toString('utf8', tokenOffsets[index], tokenOffsets[index + 1]);
  return {
    targetCount: counts.targets,
    tokenCount: counts.tokens,
    token,
    firstToken(text) {
      let [low, high] = [0, counts.tokens];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (token(middle) < text) low = middle + 1;
        else high = middle;
      }
      return low;
    },
    targetCountOf: (index) => postingOffsets[index + 1] - postingOffsets[index],
    targetsOf(index, limit) {
      const count = Math.min(limit, postingOffsets[index + 1] - postingOffsets[index]);
      return numbers(places.postings + 4 * postingOffsets[index], count);
    },
    tokenCountWith: (trigram) => trigramOffsets[trigram + 1] - trigramOffsets[trigram],
    tokensWith: (trigram) =>
      numbers(
        places.trigrams + 4 * trigramOffsets[trigram],
        trigramOffsets[trigram + 1] - trigramOffsets[trigram],
      ),
    async names(target) {
      const [start, end] = [Number(rowOffsets[target]), Number(rowOffsets[target + 1])];
      return (await readInto(handle, Buffer.allocUnsafe(end - start), places.rows + start))
        .toString('utf8')
        .split('\t');
    },
    close: () => handle.close(),
  };
}

/** Errors  where the file ends before */
function readAt(handle: FileHandle, position: number, bytes: number): Promise<Buffer> {
  return readInto(handle, Buffer.allocUnsafeSlow(bytes), position);
}

async function readInto(handle: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  for (let filled = 0; filled < buffer.length;) {
    const bytesRead = await readOnce(handle, buffer.subarray(filled), position + filled);
    if (bytesRead === 0) throw new Error(`it ends at byte ${position + filled}`);
    filled += bytesRead;
  }
  return buffer;
}

/** By callback: a search reads a hundred short pieces, and promises of the file system cost twice as much. */
function readOnce({ fd }: FileHandle, buffer: Buffer, position: number): Promise<number> {
  return new Promise((resolve, reject) =>
    read(fd, buffer, 0, buffer.length, position, (error, bytesRead) =>
      error === null ? resolve(bytesRead) : reject(error),
    ),
  );
}
