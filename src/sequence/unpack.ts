import { spawn, type ChildProcess } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Fault, Refusal } from '../errors.js';
import { peekBytes, readInputFile } from './input-file.js';

/*
 * zstd and xz, by the programs of the machine: Node 20 knows neither, what there is in JavaScript for xz is not kept,
 * and these bound their memory themselves. They are started for files of the operator only, never for what comes over
 * the network, and see nothing but their standard input.
 */

/** A program that decompresses its standard input. */
interface Unpacker {
  readonly command: string;
  readonly arguments: readonly string[];
  /** Debian package that has it. */
  readonly package: string;
}

const HEAD_BYTES = 6;
/** A window of 128 MiB is what both make by default at most; a file may ask for gigabytes. */
const ZSTD: Unpacker = { command: 'zstd', arguments: ['-dcq', '--memory=128MB'], package: 'zstd' };
const XZ: Unpacker = {
  command: 'xz',
  arguments: ['-dcq', '--threads=1', '--memlimit-decompress=160MiB'],
  package: 'xz-utils',
};
const XZ_MAGIC = Buffer.from('fd377a585a00', 'hex');
const COMPLAINT_MAX_CHARACTERS = 200;

/** How a file that begins so is compressed; undefined where it is plain or of another kind. */
export function packingOf(head: Buffer): 'gzip' | 'zstd' | 'xz' | undefined {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  return unpackerOf(head)?.command as 'zstd' | 'xz' | undefined;
}

/**
 * Bytes of an operator's file, decompressed where they are zstd or xz, in pieces; gzip is left to `decompress`.
 * Errors  those of readInputFile; Refusal `tool_missing`, `invalid_compression`
 */
export async function* readUnpackedFile(
  path: string,
  onBytes?: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  yield* unpack(readInputFile(path, onBytes), path);
}

/** The same of bytes that come from elsewhere, called so in refusals. */
export async function* unpack(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const { head, all } = await peekBytes(bytes, HEAD_BYTES);
  const unpacker = unpackerOf(head);
  yield* unpacker === undefined ? all : runUnpacker(all, unpacker, name);
}

function unpackerOf(head: Buffer): Unpacker | undefined {
  if (head.subarray(0, HEAD_BYTES).equals(XZ_MAGIC)) return XZ;
  if (head.length < 4) return undefined;
  const magic = head.readUInt32LE(0);
  // pzstd and seekable files begin with a frame that is to be skipped.
  return magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50 ? ZSTD : undefined;
}

type Ending = { readonly code: number | null } | { readonly cause: NodeJS.ErrnoException };

async function* runUnpacker(
  packed: AsyncIterable<Uint8Array>,
  { command, arguments: options, package: debianPackage }: Unpacker,
  name: string,
): AsyncGenerator<Uint8Array> {
  // Settings of the user's environment would change how it works.
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
    // Nobody reads on; after the last byte it ends by itself, and says whether all was well.
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

/** The first line of what it says on standard error, once it has ended. */
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
