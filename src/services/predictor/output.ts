import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PREDICTOR_OUTPUT_MAX_DEPTH } from '../../limits.js';

export interface OutputBounds {
  readonly maxBytes: number;
  readonly maxFiles: number;
}

interface OutputFile {
  /** Relative to the folder, with `/` as separator. */
  readonly path: string;
  readonly sizeBytes: number;
}

/** Reason why output is rejected. */
export class BadOutput extends Error {
  override readonly name = 'BadOutput';

  constructor(
    readonly reason: 'output_too_large' | 'output_invalid',
    message: string,
  ) {
    super(message);
  }
}

/**
 * Lists plain files below a folder, by path. Links are not followed, because a link could point anywhere.
 * Errors  BadOutput for more than the bounds, for an entry that is neither file nor folder, and for a folder that was
 *         replaced by a link; errors of the file system
 */
export async function readOutput(folder: string, bounds: OutputBounds): Promise<readonly OutputFile[]> {
  const files: OutputFile[] = [];
  let bytes = 0;
  const visit = async (below: string, depth: number): Promise<void> => {
    if (depth > PREDICTOR_OUTPUT_MAX_DEPTH)
      throw new BadOutput('output_invalid', `${below} is more than ${depth - 1} folders down.`);
    for (const name of (await readdir(join(folder, below))).sort()) {
      const path = below === '' ? name : `${below}/${name}`;
      const status = await lstat(join(folder, path)).catch(goneMeanwhile);
      if (status === undefined) continue;
      if (status.isDirectory()) await visit(path, depth + 1);
      else if (!status.isFile())
        throw new BadOutput('output_invalid', `${path} is neither a plain file nor a folder.`);
      else {
        files.push({ path, sizeBytes: status.size });
        bytes += status.size;
      }
      if (bytes > bounds.maxBytes || files.length > bounds.maxFiles) {
        const most = `${bounds.maxFiles} files and ${bounds.maxBytes} bytes`;
        throw new BadOutput('output_too_large', `The predictor wrote more than ${most}.`);
      }
    }
  };
  if (!(await lstat(folder)).isDirectory())
    throw new BadOutput('output_invalid', 'The predictor replaced its output folder.');
  await visit('', 1);
  return files;
}

/** A running predictor also removes files. */
function goneMeanwhile(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
