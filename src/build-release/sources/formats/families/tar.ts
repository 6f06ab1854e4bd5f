import { Refusal } from '../../../../errors.js';
import { decompress } from '../../../../sequence/input-file.js';
import type { ProteinFormat } from '../protein-format.js';
import { A3M } from './a3m.js';
import { byteCursor, type ByteCursor } from './byte-cursor.js';
import { FAMILY_FIELDS } from './family-fields.js';
import { HMMER3 } from './hmmer3.js';
import { STOCKHOLM } from './stockholm.js';

const BLOCK_BYTES = 512;
/** Regular files: POSIX, before POSIX, and contiguous. */
const FILE_TYPES: ReadonlySet<string> = new Set(['0', '\0', '7']);
/** Longest extended header, which holds long names. */
const EXTENDED_MAX_BYTES = 1 << 20;

/**
 * Tar archive of families: files `.a3m`, `.sto`, `.stk` and `.hmm`, plain or gzip, in the order of the archive. Other
 * files are ignored. The name of an A3M file is its id. Two blocks of zeros must end the archive: they alone show
 * that no file after the last one was cut off.
 * Source  POSIX.1-2017, pax; GNU tar's long names
 */
export const TAR: ProteinFormat = {
  name: 'tar',
  title: 'tar of alignments',
  hasFamilies: true,
  isRecognised: (head) => /^.{257}ustar/s.test(head),
  fields: FAMILY_FIELDS,
  async *read(input) {
    const cursor = byteCursor(decompress(input.bytes, () => input.file));
    let families = 0;
    try {
      for await (const { name, size, isLink } of entriesOf(cursor, input.file)) {
        const format = formatOf(name);
        if (format === undefined) continue;
        if (isLink) {
          const remedy = 'pack the archive again by tar --dereference --hard-dereference';
          throw refuse(input.file, `the file ${shown(name)} is a link without content; ${remedy}`);
        }
        families += 1;
        const short = (): Refusal => refuse(input.file, `it ends within the file ${shown(name)}`);
        yield* format.read({ file: `${input.file}/${name}`, bytes: cursor.take(size, short) });
      }
    } finally {
      await cursor.close();
    }
    if (families === 0) throw refuse(input.file, 'no file of it ends with .a3m, .sto, .stk or .hmm');
  },
};

/** Returns the format of a family's file by its name; undefined for other files. */
export function formatOf(name: string): ProteinFormat | undefined {
  const [, extension] = /\.(a3m|sto|stk|stockholm|hmm)(?:\.(?:gz|bgz|zst|xz))?$/i.exec(name) ?? [];
  if (extension === undefined) return undefined;
  return { a3m: A3M, hmm: HMMER3 }[extension.toLowerCase()] ?? STOCKHOLM;
}

interface TarEntry {
  readonly name: string;
  /** Unit: bytes */
  readonly size: number;
  /** Whether it is a hard or a symbolic link. */
  readonly isLink: boolean;
}

/** Values of extended headers, for the next entry. */
interface Extended {
  readonly name?: string;
  readonly size?: number;
  readonly isSparse?: boolean;
}

/** Yields the regular files and the links. The caller reads the content of each from the cursor, or leaves it. */
async function* entriesOf(cursor: ByteCursor, file: string): AsyncGenerator<TarEntry> {
  let extended: Extended = {};
  for (;;) {
    const header = await cursor.read(BLOCK_BYTES);
    if (isZero(header)) {
      if (isZero(await cursor.read(BLOCK_BYTES))) return;
      throw refuse(file, 'a block of zeros is within it');
    }
    if (header.length === 0)
      throw refuse(file, 'it was cut off: the two blocks of zeros at its end are missing');
    if (header.length < BLOCK_BYTES || !hasValidSum(header)) throw refuse(file, 'a header is damaged');
    const type = String.fromCharCode(header[156]);
    const size = extended.size ?? sizeOf(header);
    if (!Number.isSafeInteger(size)) throw refuse(file, 'a header is damaged');
    const end = cursor.offset + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
    if (type === 'x' || type === 'L') {
      if (size > EXTENDED_MAX_BYTES) throw refuse(file, 'a header is too long');
      const text = (await cursor.read(size)).toString('utf8');
      extended = type === 'L' ? { ...extended, name: untilNul(text) } : { ...extended, ...paxValues(text) };
      // K is the long target of a link.
    } else if (type !== 'K') {
      const { name = nameOf(header), isSparse } = extended;
      extended = {};
      if (type === 'S' || isSparse === true)
        throw refuse(file, `the file ${shown(name)} is sparse; pack the archive again without --sparse`);
      const isLink = type === '1' || type === '2';
      if (isLink || FILE_TYPES.has(type)) yield { name, size, isLink };
    }
    if (!(await cursor.skipTo(end))) throw refuse(file, 'it ends too early');
  }
}

function isZero(block: Buffer): boolean {
  return block.length === BLOCK_BYTES && block.every((byte) => byte === 0);
}

/** Checks the sum of a header's bytes, where its own eight count as blanks. */
function hasValidSum(header: Buffer): boolean {
  let sum = 0;
  for (const [at, byte] of header.entries()) sum += at >= 148 && at < 156 ? 32 : byte;
  return sum === octal(header.subarray(148, 156));
}

/** Reads an octal size, or a binary one whose first bit is set. */
function sizeOf(header: Buffer): number {
  const field = header.subarray(124, 136);
  if (field[0] < 128) return octal(field);
  return field.subarray(1).reduce((value, byte) => value * 256 + byte, 0);
}

function octal(field: Buffer): number {
  const digits = untilNul(field.toString('latin1')).trim();
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN;
}

function nameOf(header: Buffer): string {
  const [name, prefix] = [header.subarray(0, 100), header.subarray(345, 500)].map((field) =>
    untilNul(field.toString('utf8')),
  );
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** Reads records such as `26 path=families/PF00085.a3m\n`. */
function paxValues(text: string): Extended {
  let values: Extended = {};
  for (const [, key, value] of text.matchAll(/^\d+ (path|size|GNU\.sparse\.\w+)=(.*)$/gm)) {
    if (key === 'path') values = { ...values, name: value };
    else if (key === 'size') values = { ...values, size: Number(value) };
    else values = { ...values, isSparse: true, ...(key === 'GNU.sparse.name' && { name: value }) };
  }
  return values;
}

function untilNul(text: string): string {
  const end = text.indexOf('\0');
  return end < 0 ? text : text.slice(0, end);
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}

function refuse(file: string, problem: string): Refusal {
  return new Refusal('invalid_alignment', `${file}: ${problem} (tar).`, { file });
}
