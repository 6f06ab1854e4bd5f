import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault, ifAbsent } from '../errors.js';
import type { Family } from '../homologs/homolog-set.js';
import type { AttributeValue, FileEntry } from '../release/release.js';
import { openHashedFile } from '../release/hashed-file.js';

/** A protein of the release, without its tokens. */
export interface SpooledProtein {
  readonly id: string;
  readonly sequence: string;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Members of the family whose consensus the protein is; undefined for a single protein. */
  readonly family?: Family;
}

export interface SpooledLine {
  readonly protein: SpooledProtein;
  /** Byte offset of the next line. */
  readonly endOffset: number;
}

/*
 * The spool has the normalised and checked proteins of a build, one canonical JSON array `[id, sequence, {attributes}]`
 * per line, with the family as fourth item where there is one. The input is parsed once; encoding and writing read the
 * spool. Its SHA-256 is the corpus snapshot id.
 */

/** Returns the fault of a spool that is not the one that was written. @param path  of the spool */
export function damagedSpool(path: string): Fault {
  return new Fault(
    `${path} is damaged. Run the command of the build again; if this message comes again, remove ` +
      `${dirname(path)} first.`,
  );
}

export interface ProteinSpool {
  append(protein: SpooledProtein): Promise<void>;
  finish(): Promise<FileEntry>;
  abandon(): Promise<void>;
}

/** Creates an empty spool. Errors  errors of the file system */
export async function createProteinSpool(path: string): Promise<ProteinSpool> {
  const file = await openHashedFile(path);
  return {
    append: ({ id, sequence, attributes, family }) => {
      // Sorted members with the numbers and strings of JSON.stringify are canonical JSON (RFC 8785).
      const sorted = Object.fromEntries(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)));
      const items = family === undefined ? [id, sequence, sorted] : [id, sequence, sorted, family];
      return file.write(Buffer.from(`${JSON.stringify(items)}\n`));
    },
    finish: () => file.finish(),
    abandon: () => file.abandon(),
  };
}

/**
 * Reads the lines between two offsets, each of which must be the start of a line or the end of the file.
 * Errors  Fault for a missing or damaged spool; errors of the file system
 * @param onBytes  receives all bytes between the offsets
 */
export async function* readProteinSpool(
  path: string,
  startOffset = 0,
  endOffset = Infinity,
  onBytes?: (bytes: Uint8Array) => void,
): AsyncGenerator<SpooledLine> {
  if (startOffset >= endOffset) return;
  let rest: Buffer = Buffer.alloc(0);
  let offset = startOffset;
  // The stream's `end` is inclusive.
  const range = { start: startOffset, end: endOffset - 1, highWaterMark: 1 << 20 };
  const chunks = await open(path).catch(ifAbsent(undefined));
  if (chunks === undefined) throw damagedSpool(path);
  for await (const chunk of chunks.createReadStream(range)) {
    onBytes?.(chunk as Buffer);
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    let start = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      const protein = parseLine(bytes.toString('utf8', start, end));
      if (protein === undefined) throw damagedSpool(path);
      offset += end + 1 - start;
      start = end + 1;
      yield { protein, endOffset: offset };
    }
    rest = bytes.subarray(start);
  }
}

/** Undefined for a line that is none of a spool. */
function parseLine(text: string): SpooledProtein | undefined {
  try {
    const line = JSON.parse(text) as [string, string, SpooledProtein['attributes'], Family?];
    const [id, sequence, attributes, family] = line;
    if (typeof sequence !== 'string' || typeof attributes !== 'object') return undefined;
    return family === undefined ? { id, sequence, attributes } : { id, sequence, attributes, family };
  } catch {
    return undefined;
  }
}
