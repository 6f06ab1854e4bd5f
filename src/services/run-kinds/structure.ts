import { createHash } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import type { StructurePredictor } from '../../config.js';
import type { StructureRunInput } from '../../contract/runs/run-structures.js';
import { Refusal } from '../../errors.js';
import { MSA_MAX_BYTES } from '../../limits.js';
import type { OpenContent } from '../../store/objects/contents.js';
import type { RequestContext } from '../context.js';
import type { FileWriter } from '../storage/file-writer.js';
import type { Files } from '../storage/files.js';
import type { Msas } from '../msa/msas.js';
import { collectPrediction } from '../predictor/collect.js';
import { INPUT_FILE, LOG_FILE, startPredictor, type PredictorProcess } from '../predictor/process.js';
import { PredictorSlots } from '../predictor/slots.js';
import { isPassing } from '../runs/passing.js';
import {
  defineRunKind,
  type PreparedRun,
  type RunKind,
  type RunSteps,
  type RunWork,
} from '../runs/run-kind.js';

interface StructureRunDependencies {
  /** Absent if the operator has configured none. */
  readonly predictor: StructurePredictor | undefined;
  readonly msas: Pick<Msas, 'read'>;
  readonly files: Pick<Files, 'openManagedFile' | 'relativeUrl'>;
  readonly writer: FileWriter;
  /** Working folder of predictions, with a subfolder for each. */
  readonly folder: string;
}

interface Plan {
  readonly source:
    | { readonly msaId: string }
    | { readonly fileId: string; readonly url: string; readonly storageVersion: string };
  /** Path of the finished folder; absent = one of the run's own. */
  readonly folder?: string;
  readonly baseUrl: string;
}

/** `structure.predict`: runs the operator's command on an alignment, in its own folder and process group. */
export function structureRuns(dependencies: StructureRunDependencies): RunKind {
  const slots = new PredictorSlots(dependencies.predictor?.concurrency ?? 1);
  return defineRunKind<'structure.predict', Plan>({
    key: 'structure.predict',
    prepare: (input, context) => preparePrediction(input, context, dependencies),
    execute: (plan, work) => predict(plan, work, slots, dependencies),
  });
}

async function preparePrediction(
  input: StructureRunInput,
  context: RequestContext,
  dependencies: StructureRunDependencies,
): Promise<PreparedRun<Plan>> {
  requirePredictor(dependencies);
  const source = sourceOf(input, context, dependencies);
  await requireA3m(openSource(source, context, dependencies));
  const sourceId = 'msaId' in source ? source.msaId : source.fileId;
  const folder = input.folder?.replace(/\/$/, '');
  if (folder !== undefined) dependencies.writer.placeOf(`${folder}/${LOG_FILE}`, context);
  const plan = { source, ...(folder !== undefined && { folder }), baseUrl: context.baseUrl ?? '' };
  return { plan, totalCount: 1, traces: { inputRefs: [sourceId], objectRefs: [sourceId] } };
}

async function* predict(
  { source, folder, baseUrl }: Plan,
  { runId, context }: RunWork,
  slots: PredictorSlots,
  dependencies: StructureRunDependencies,
): RunSteps {
  const predictor = requirePredictor(dependencies);
  const place = join(dependencies.folder, runId);
  const slot = slots.take();
  const waiting = { rows: [], doneCount: 0, checkpoint: undefined } as const;
  let running: PredictorProcess | undefined;
  const stop = (): void => running?.stop();
  try {
    yield { ...waiting, stage: 'waiting for the predictor', resumeAfter: slot.ready };
    // Removes files of the same run that a killed server left.
    await rm(place, { recursive: true, force: true });
    await mkdir(place, { recursive: true, mode: 0o700 });
    const a3mSha256 = await writeInput(openSource(source, context, dependencies), join(place, INPUT_FILE));
    running = await startPredictor(predictor, place);
    context.signal.addEventListener('abort', stop, { once: true });
    if (context.signal.aborted) stop();
    yield { ...waiting, stage: 'predicting', resumeAfter: running.ended };
    const end = await running.ended;
    context.signal.throwIfAborted();
    const target = { folder: folder ?? `structures/${runId}`, baseUrl, a3mSha256 };
    for (;;) {
      try {
        const outcome = await collectPrediction(end, predictor, place, target, context, dependencies.writer);
        return { ...outcome, traces: { toolVersions: [toolOf(predictor)] } };
      } catch (error) {
        if (!isPassing(error)) throw error;
        // A new start would repeat hours of prediction, so the output waits in its folder. The slot stays taken, so
        // that no other prediction writes to the full disk.
        yield { ...waiting, stage: 'predicting', waitsFor: error };
      }
    }
  } finally {
    stop();
    await running?.ended;
    slot.release();
    await rm(place, { recursive: true, force: true });
  }
}

/** The operator's program. Only its command line is known. */
function toolOf({ command, args }: StructurePredictor) {
  return {
    name: 'structure predictor',
    version: `sha256:${canonicalSha256([command, ...args])}`,
    path: command,
  };
}

function requirePredictor({ predictor }: StructureRunDependencies): StructurePredictor {
  if (predictor !== undefined) return predictor;
  throw new Refusal(
    'endpoint_not_configured',
    'This server has no structure predictor: its operator names one in config/appliance.json, "structure_predictor".',
  );
}

function sourceOf(
  input: StructureRunInput,
  context: RequestContext,
  { files }: StructureRunDependencies,
): Plan['source'] {
  if (input.a3m_object_id !== undefined) return { msaId: input.a3m_object_id };
  const file = files.openManagedFile(input.a3m_url as string, context);
  file.close();
  return { fileId: file.id, url: files.relativeUrl(file), storageVersion: file.storageVersion };
}

/** Errors  the refusals of alignments and files; `msa_too_large` */
function openSource(
  source: Plan['source'],
  context: RequestContext,
  { msas, files }: StructureRunDependencies,
): OpenContent {
  if ('msaId' in source) {
    const reply = msas.read(source.msaId, {}, context);
    if ('bytes' in reply) return reply.bytes.open() as OpenContent;
    throw new Refusal('msa_not_found', `No alignment has the id ${source.msaId}.`);
  }
  const file = files.openManagedFile(source.url, context);
  if (file.storageVersion !== source.storageVersion) {
    file.close();
    throw new Refusal('file_not_found', `${file.path} has been replaced since the run was created.`);
  }
  if (file.sizeBytes <= MSA_MAX_BYTES) return file;
  file.close();
  throw new Refusal('msa_too_large', `The alignment has more than ${MSA_MAX_BYTES} bytes.`);
}

/**
 * Checks the first record, as far as the first piece of the file has it. The predictor reads the rest.
 * Errors  Refusal `invalid_sequence`; those of the file system
 */
async function requireA3m({ bytes, close }: OpenContent): Promise<void> {
  try {
    for await (const piece of bytes) {
      const [start = '', ...rows] = Buffer.from(piece.subarray(0, A3M_START_BYTES))
        .toString('latin1')
        .split(/\r?\n/)
        .filter((line) => line.trim() !== '' && !line.startsWith('#'));
      const end = rows.findIndex((row) => row.startsWith('>'));
      const residues = rows.slice(0, end === -1 ? undefined : end);
      if (start.startsWith('>') && residues.every((row) => A3M_ROW.test(row))) return;
      break;
    }
  } finally {
    close();
  }
  throw new Refusal(
    'invalid_sequence',
    'The file is no A3M alignment: it must begin with a line ">name" and the residues of the query.',
    { param: 'input.a3m_url' },
  );
}

const A3M_START_BYTES = 65_536;
const A3M_ROW = /^[A-Za-z.*-]+[ \t]*$/;

/** Writes the input and returns its SHA-256. Errors  those of the file system */
async function writeInput({ bytes, close }: OpenContent, path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    await writeFile(
      path,
      (async function* () {
        for await (const chunk of bytes) {
          hash.update(chunk);
          yield chunk;
        }
      })(),
      { mode: 0o600 },
    );
    return hash.digest('hex');
  } finally {
    close();
  }
}
