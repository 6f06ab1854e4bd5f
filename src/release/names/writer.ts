import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openHashedFile, type HashedFile } from '../hashed-file.js';
import { NAMES_FILE } from '../format.js';
import { NAME_FIELDS, NAME_MAX_CHARACTERS, namesHeader, paddingOf } from './format.js';
import { createPostings, type Postings } from './postings.js';
import { tokensOf, TRIGRAM_COUNT, trigramsOf } from './text.js';
import type { AttributeValue, FileEntry } from '../release.js';

/** Writes the names of a release's targets, given in their order. */
export interface NamesWriter {
  add(id: string, attributes: Readonly<Record<string, AttributeValue>>): Promise<void>;
  finish(): Promise<FileEntry>;
  /** Removes what was begun. */
  abandon(): Promise<void>;
}

const ROWS_PER_WRITE = 4_096;
const WORDS_IN_MEMORY = 1_000_000;

/**
 * @param scratch a folder for what is needed meanwhile
 * @param wordsInMemory words that are sorted at once
 * Cost    a few microseconds a word; holds some 100 bytes a target
 */
export async function createNamesWriter(
  directory: string,
  scratch: string,
  wordsInMemory = WORDS_IN_MEMORY,
): Promise<NamesWriter> {
  const rowsPath = join(scratch, 'names.rows');
  const rows = await openHashedFile(rowsPath);
  const postings = createPostings(scratch, wordsInMemory);
  const offsets: number[] = [0];
  let waiting: Buffer[] = [];
  let rowBytes = 0;
  const flush = async (): Promise<void> => {
    await rows.write(Buffer.concat(waiting));
    waiting = [];
  };
  return {
    async add(id, attributes) {
      const names = [id, ...NAME_FIELDS.map((field) => nameOf(attributes[field]))];
      const row = Buffer.from(names.join('\t'));
      const target = offsets.length - 1;
      rowBytes += row.length;
      offsets.push(rowBytes);
      for (const token of new Set(names.flatMap(tokensOf))) postings.add(token, target);
      if (waiting.push(row) < ROWS_PER_WRITE) return;
      await flush();
      await postings.settle();
    },
    async finish() {
      await flush();
      await rows.finish();
      const entry = await writeFile(join(directory, NAMES_FILE), { offsets, rowBytes, rowsPath, postings });
      await rm(rowsPath);
      return entry;
    },
    async abandon() {
      await rows.abandon();
      await postings.drop();
      await rm(rowsPath, { force: true });
    },
  };
}

interface Collected {
  readonly offsets: readonly number[];
  readonly rowBytes: number;
  readonly rowsPath: string;
  readonly postings: Postings;
}

async function writeFile(
  path: string,
  { offsets, rowBytes, rowsPath, postings }: Collected,
): Promise<FileEntry> {
  const { tokens, tokenOffsets, postingOffsets, values } = await postings.finish();
  const { trigramOffsets, entries } = trigramsOfAll(tokens);
  const tokenBytes = tokenOffsets[tokens.length];
  const file = await openHashedFile(path);
  await file.write(
    namesHeader({
      targets: offsets.length - 1,
      tokens: tokens.length,
      postings: values.length,
      rowBytes,
      tokenBytes,
      trigrams: entries.length,
    }),
  );
  await writeSection(file, new BigUint64Array(offsets.map(BigInt)));
  for await (const chunk of createReadStream(rowsPath, { highWaterMark: 1 << 20 }))
    await file.write(chunk as Buffer);
  await file.write(Buffer.alloc(paddingOf(rowBytes)));
  await writeSection(file, tokenOffsets);
  await writeSection(file, Buffer.from(tokens.join('')));
  for (const section of [postingOffsets, values, trigramOffsets, entries]) await writeSection(file, section);
  return file.finish();
}

async function writeSection(
  file: HashedFile,
  { buffer, byteOffset, byteLength }: ArrayBufferView,
): Promise<void> {
  await file.write(Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength));
  await file.write(Buffer.alloc(paddingOf(byteLength)));
}

/** A counting sort of all tokens by all their trigrams. */
function trigramsOfAll(tokens: readonly string[]): { trigramOffsets: Uint32Array; entries: Uint32Array } {
  const trigramOffsets = new Uint32Array(TRIGRAM_COUNT + 1);
  for (const token of tokens) for (const trigram of trigramsOf(token)) trigramOffsets[trigram + 1] += 1;
  for (let at = 0; at < TRIGRAM_COUNT; at += 1) trigramOffsets[at + 1] += trigramOffsets[at];
  const entries = new Uint32Array(trigramOffsets[TRIGRAM_COUNT]);
  const next = trigramOffsets.slice();
  tokens.forEach((token, index) => {
    for (const trigram of trigramsOf(token)) entries[next[trigram]++] = index;
  });
  return { trigramOffsets, entries };
}

/** One line of bounded length; tabs stand between names. */
function nameOf(value: AttributeValue | undefined): string {
  if (typeof value !== 'string') return '';
  return value.slice(0, NAME_MAX_CHARACTERS).replace(/[\t\n\r]/g, ' ');
}
