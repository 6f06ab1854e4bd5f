import { createWriteStream, existsSync, statSync } from 'node:fs';
import { lstat, readlink, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';
import { rawStream } from '../terminal/printed.js';
import { ANSI_STYLE, PLAIN_STYLE, type Layout, type SearchOutput } from './report.js';

/** Width of a table that is not written to a terminal. */
const FILE_COLUMNS = 120;
const COLUMNS_MIN = 60;

/** Lines have the width of the terminal. Colours appear on a terminal only, and not with NO_COLOR. */
export function layoutFor(
  context: CommandContext,
  {
    path,
    ...asked
  }: Pick<Layout, 'hasAlignments' | 'hasFurther' | 'hasProbability' | 'manual'> & {
    readonly path?: string | undefined;
  },
): Layout {
  const { stdout, environment } = context;
  const isTerminal = path === undefined && stdout.isTTY === true;
  const wantsColour = (environment.NO_COLOR ?? '') === '' && environment.TERM !== 'dumb';
  return {
    columns: isTerminal ? Math.max(COLUMNS_MIN, stdout.columns ?? FILE_COLUMNS) : FILE_COLUMNS,
    ...asked,
    style: isTerminal && wantsColour ? ANSI_STYLE : PLAIN_STYLE,
    isTerminal,
  };
}

/**
 * Writes the response as it arrives. A file gets its name when it is complete, so that it is never read half-written. A
 * reader that closes standard output early (`head`) ends the search without an error.
 * Errors  those of the pieces and of the file system
 */
export async function writeOutput(
  output: SearchOutput | Iterable<string>,
  path: string | undefined,
  stdout: CommandContext['stdout'],
): Promise<void> {
  const pieces = Readable.from(output);
  if (path === undefined) {
    // Formats that programs read are written as they are. A terminal gets printable text only.
    const target = stdout.isTTY === true ? stdout : rawStream(stdout);
    await pipeline(pieces, target, { end: false }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
    return;
  }
  if (!existsSync(dirname(path)))
    throw new Refusal('file_not_found', `The folder of ${path} does not exist: make ${dirname(path)} first.`);
  const file = await fileBehind(path);
  // Devices, pipes and open files of processes are written in place, after what is there.
  if (file === undefined) return pipeline(pieces, createWriteStream(path, { flags: 'a' }));
  const partial = `${file}.part`;
  try {
    await pipeline(pieces, createWriteStream(partial));
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** Links in a row that a path may go through, as in Linux. */
const LINKS_MAX_COUNT = 40;

/** Returns the regular or new file that a path names, through its links; undefined for anything else. */
async function fileBehind(path: string): Promise<string | undefined> {
  let at = resolve(path);
  for (let links = 0; links < LINKS_MAX_COUNT; links += 1) {
    // "/dev/stdout" and "/dev/fd/1" are links below "/proc" to the open file of a process.
    at = join(await realpath(dirname(at)), basename(at));
    if (/^\/(dev|proc)\//.test(at)) return undefined;
    const status = await lstat(at).catch(() => undefined);
    if (status === undefined || status.isFile()) return at;
    if (!status.isSymbolicLink()) return undefined;
    at = resolve(dirname(at), await readlink(at));
  }
  throw new Refusal('file_not_found', `${path} is a link that leads nowhere.`);
}

/** Whether an output names a folder: it ends with a slash, or a folder of this name exists. */
export function isFolder(path: string | undefined): path is string {
  if (path === undefined) return false;
  return path.endsWith('/') || (statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false);
}
