import { createWriteStream, existsSync, statSync } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
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
    hasAlignments,
    hasProbability,
    path,
    manual,
  }: Pick<Layout, 'hasAlignments' | 'hasProbability' | 'manual'> & { readonly path?: string | undefined },
): Layout {
  const { stdout, environment } = context;
  const isTerminal = path === undefined && stdout.isTTY === true;
  const wantsColour = (environment.NO_COLOR ?? '') === '' && environment.TERM !== 'dumb';
  return {
    columns: isTerminal ? Math.max(COLUMNS_MIN, stdout.columns ?? FILE_COLUMNS) : FILE_COLUMNS,
    hasAlignments,
    hasProbability,
    style: isTerminal && wantsColour ? ANSI_STYLE : PLAIN_STYLE,
    isTerminal,
    manual,
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
  const isSpecial = await stat(path).then(
    (status) => !status.isFile(),
    () => false,
  );
  const partial = isSpecial ? path : `${path}.part`;
  try {
    await pipeline(pieces, createWriteStream(partial));
    if (!isSpecial) await rename(partial, path);
  } catch (error) {
    if (!isSpecial) await rm(partial, { force: true });
    throw error;
  }
}

/** Whether an output names a folder: it ends with a slash, or a folder of this name exists. */
export function isFolder(path: string | undefined): path is string {
  if (path === undefined) return false;
  return path.endsWith('/') || (statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false);
}
