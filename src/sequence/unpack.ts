import { spawn, type ChildProcess } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Fault, Refusal } from '../errors.js';
import { peekBytes, readInputFile } from './input-file.js';

/*
 * Decompresses zstd and xz by programs of the machine. Node 20 has neither, the JavaScript packages for xz are
 * unmaintained, and these programs bound their own memory. They run only for files of the operator, never for network
 * input, and read only standard input.
 */

/** A program that decompresses its standard input. */
interface Unpacker {
  readonly command: string;
  readonly arguments: readonly string[];
  /** Debian package of the command. */
  readonly package: string;
}

const HEAD_BYTES = 6;
/** Both write windows of at most 128 MiB by default; a hostile file may request gigabytes. */
const ZSTD: Unpacker = { command: 'zstd', arguments: ['-dcq', '--memory=128MB'], package: 'zstd' };
const XZ: Unpacker = {
  command: 'xz',
  arguments: ['-dcq', '--threads=1', '--memlimit-decompress=160MiB'],
  package: 'xz-utils',
};
const XZ_MAGIC = Buffer.from('fd377a585a00', 'hex');
const COMPLAINT_MAX_CHARACTERS = 200;

/** Returns the compression of a file by its first bytes; undefined if plain or unknown. */
export function packingOf(head: Buffer): 'gzip' | 'zstd' | 'xz' | undefined {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  return unpackerOf(head)?.command as 'zstd' | 'xz' | undefined;
}

/**
 * Yields an operator's file in chunks and decompresses zstd and xz; `decompress` handles gzip.
 * Errors  those of readInputFile; Refusal `tool_missing`, `invalid_compression`
 */
export async function* readUnpackedFile(
  path: string,
  onBytes?: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  yield* unpack(readInputFile(path, onBytes), path);
}

/**
 * Yields bytes and decompresses zstd and xz. Refusals use `name` for the input.
 * Errors  those of `bytes`; Refusal `tool_missing`, `invalid_compression`
 */
export async function* unpack(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const { head, all } = await peekBytes(bytes, HEAD_BYTES);
  const unpacker = unpackerOf(head);
  yield* unpacker === undefined ? all : runUnpacker(all, unpacker, name);
}

function unpackerOf(head: Buffer): Unpacker | undefined {
  if (head.subarray(0, HEAD_BYTES).equals(XZ_MAGIC)) return XZ;
  if (head.length < 4) return undefined;
  const magic = head.readUInt32LE(0);
  // pzstd files and seekable files begin with a skippable frame.
  return magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50 ? ZSTD : undefined;
}

type Ending = { readonly code: number | null } | { readonly cause: NodeJS.ErrnoException };

async function* runUnpacker(
  packed: AsyncIterable<Uint8Array>,
  { command, arguments: options, package: debianPackage }: Unpacker,
  name: string,
): AsyncGenerator<Uint8Array> {
  // Variables such as XZ_DEFAULTS of the user's environment would change the result.
  const child = spawn(command, options, { env: { PATH: process.env.PATH }, stdio: 'pipe' });
  const complaint = firstComplaint(child);
  const ending = new Promise<Ending>((resolve) => {
    child.once('error', (cause) => resolve({ cause })).once('close', (code) => resolve({ code }));
  });
  const feeding = pipeline(Readable.from(packed), child.stdin).catch((cause: unknown) => cause);
  let isDone = false;
  try {
    for await (const chunk of child.stdout) yield chunk as Uint8Array;
    isDone = true;
  } finally {
    // The reader stopped early. After the last byte the program ends by itself, and its exit code is checked below.
    if (!isDone) child.kill('SIGKILL');
  }
  const [fed, ended] = [await feeding, await ending];
  if (fed instanceof Refusal || fed instanceof Fault) throw fed;
  if ('cause' in ended && ended.cause.code === 'ENOENT') {
    throw new Refusal(
      'tool_missing',
      `${name} is compressed by ${command}, which is not installed. Install it (Debian: ${debianPackage}), ` +
        'or decompress the file first.',
    );
  }
  if ('cause' in ended) throw new Fault(`${command} could not be started.`, { cause: ended.cause });
  if (ended.code === 0) return;
  throw new Refusal(
    'invalid_compression',
    `${name} cannot be decompressed by ${command}: ${complaint() || 'it ended early'}. ` +
      'Copy or download the file again.',
    { file: name },
  );
}

/** Returns a function that gives the first line of standard error; call it after the program has ended. */
function firstComplaint(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    if (text.length < COMPLAINT_MAX_CHARACTERS) text += chunk.toString('latin1');
  });
  return () =>
    text
      .trim()
      .replace(/\n.*/s, '')
      .replace(/^\w+: (\(stdin\)|\/\*stdin\*\\)\s*: /, '')
      .replace(/[^ -~]|\.$/g, '')
      .slice(0, COMPLAINT_MAX_CHARACTERS);
}
