import { constants } from 'node:fs';
import { lstat, open, realpath, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { StructurePredictor } from '../../config.js';
import type { StructureRunSummary } from '../../contract/runs/run-structures.js';
import { Refusal } from '../../errors.js';
import type { RequestContext } from '../context.js';
import {
  presentRunFile,
  releaseAfter,
  type FileWriter,
  type PlacedFile,
  type WrittenFile,
} from '../storage/file-writer.js';
import { BadOutput, readOutput } from './output.js';
import { LOG_FILE, OUTPUT_FOLDER, type PredictorEnd } from './process.js';
import type { RunFailureOutcome, RunOutcome } from '../runs/run-kind.js';

/** Destination of the files of a prediction, with the data of their description. */
interface PredictionTarget {
  readonly folder: string;
  readonly a3mSha256: string;
  /** Public address of the server for the client that created the run. */
  readonly baseUrl: string;
}

/**
 * Copies the predictor's output into storage. After a failure, copies its log.
 * Errors  the refusals of storage; those of the file system
 */
export async function collectPrediction(
  end: PredictorEnd,
  { output }: StructurePredictor,
  place: string,
  { folder, baseUrl, a3mSha256 }: PredictionTarget,
  context: RequestContext,
  writer: FileWriter,
): Promise<RunOutcome | RunFailureOutcome> {
  const copied: WrittenFile[] = [];
  const store = async (from: string, path: string): Promise<PlacedFile> => {
    const written = await copyIn(place, from, writer, context);
    copied.push(written);
    releaseAfter(context.signal, written.release);
    return { written, path, contentType: contentTypeOf(path) };
  };
  await requireOwnLog(join(place, LOG_FILE));
  const log = await store(LOG_FILE, `${folder}/${LOG_FILE}`);
  const present = (files: readonly PlacedFile[], at: Date) =>
    writer.put(files, context, at).map((file) => presentRunFile(file, baseUrl));
  const outputFolder = join(place, OUTPUT_FOLDER);
  try {
    refuseFailure(end);
    const files: PlacedFile[] = [];
    for (const { path } of await readOutput(outputFolder, output)) {
      const placed = placeOf(`${folder}/${path}`, writer, context);
      if (placed === log.path || files.some((file) => file.path === placed))
        throw new BadOutput('output_invalid', `The predictor wrote a file twice, or the log's: ${path}.`);
      files.push(await store(join(OUTPUT_FOLDER, path), placed));
    }
    const summarise = (at: Date): StructureRunSummary => {
      const [stored, ...rest] = present([log, ...files], at);
      return {
        object: 'structure_prediction_summary',
        a3m_sha256: a3mSha256,
        files: rest,
        log: stored,
        predictor_seconds: end.tookMs / 1000,
      };
    };
    return { rows: [], doneCount: 1, summarise, billableUnits: 1 };
  } catch (error) {
    if (!(error instanceof BadOutput) && !(error instanceof PredictorFailure)) {
      // A repeat copies all files again. Until then their bytes would fill the disk.
      for (const { release } of copied) release();
      throw error;
    }
    const { reason, message } = error;
    const fail = (at: Date): Refusal => {
      const [stored] = present([log], at);
      const facts = { reason, exit_code: end.code, signal: end.signal, log: stored };
      return new Refusal('prediction_failed', `${message} Its log is ${stored.path}.`, facts);
    };
    return { rows: [], doneCount: 0, fail };
  }
}

class PredictorFailure extends Error {
  override readonly name = 'PredictorFailure';

  constructor(
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

function refuseFailure({ reason, message, code, signal, error }: PredictorEnd): void {
  if (reason !== undefined) throw new PredictorFailure(reason, message ?? 'The predictor was stopped.');
  if (error !== undefined)
    throw new PredictorFailure(
      'not_started',
      'The predictor could not be started; the operator must see to it.',
    );
  if (signal !== null) throw new PredictorFailure('signal', `The predictor was ended by ${signal}.`);
  if (code !== 0) throw new PredictorFailure('exit', `The predictor ended with status ${code}.`);
}

/** Errors  BadOutput for a name that storage does not accept */
function placeOf(path: string, writer: FileWriter, context: RequestContext): string {
  try {
    return writer.placeOf(path, context);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'invalid_path')
      throw new BadOutput(
        'output_invalid',
        `Storage does not take a file of the predictor. ${error.message}`,
      );
    throw error;
  }
}

/** Replaces a log that is no plain file. A link there would name a file of the server. */
async function requireOwnLog(path: string): Promise<void> {
  const status = await lstat(path).catch(() => undefined);
  if (
    status?.isFile() === true &&
    (await realpath(path)) === join(await realpath(dirname(path)), basename(path))
  )
    return;
  await rm(path, { recursive: true, force: true });
  await writeFile(path, 'The predictor removed or replaced its log.\n', { flag: 'wx' });
}

/**
 * Follows no link, even if one replaced the file, or a folder above it, since it was listed.
 * Errors  BadOutput for a link; those of the file system and of storage
 */
async function copyIn(
  place: string,
  path: string,
  writer: FileWriter,
  context: RequestContext,
): Promise<WrittenFile> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const whole = join(place, path);
  const handle = await open(whole, flags).catch((error: unknown) => {
    const isLink = (error as NodeJS.ErrnoException).code === 'ELOOP';
    throw isLink ? new BadOutput('output_invalid', `${path} is a link.`) : error;
  });
  const file = writer.open(context);
  try {
    // Links of folders above the file are followed by `open`, so the path of what was opened is compared.
    const opened = await realpath(`/proc/self/fd/${handle.fd}`).catch(() => realpath(whole));
    if (opened !== join(await realpath(place), path) || !(await handle.stat()).isFile())
      throw new BadOutput('output_invalid', `${path} is not in the folder of the prediction.`);
    for await (const chunk of handle.createReadStream({ autoClose: false }))
      await file.write(chunk as Buffer);
    return await file.end();
  } finally {
    await file.discard();
    await handle.close();
  }
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  pdb: 'chemical/x-pdb',
  cif: 'chemical/x-mmcif',
  json: 'application/json',
  png: 'image/png',
  log: 'text/plain; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  a3m: 'text/plain; charset=utf-8',
};

function contentTypeOf(path: string): string {
  return CONTENT_TYPES[path.slice(path.lastIndexOf('.') + 1).toLowerCase()] ?? 'application/octet-stream';
}
