/* Entry point of an encoder's worker thread: holds one model and answers tasks one by one, in order. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { assert } from '../errors.js';
import { openEncoderModel, type EncoderDevice, type EncoderModel } from './encode-model.js';
import { quantise } from './encode-quantise.js';
import type { EncoderCard } from './encoder.js';

export interface WorkerSettings {
  readonly directory: string;
  readonly card: EncoderCard;
  readonly device: EncoderDevice;
}

/** Residues of one model run, of which the tokens of keptStart … keptEnd − 1 are wanted. */
export interface EncodeTask {
  readonly residues: string;
  readonly keptStart: number;
  readonly keptEnd: number;
}

/** Null asks the worker to end. */
export type WorkerRequest = { readonly id: number; readonly task: EncodeTask } | null;

export type WorkerAnswer =
  | { readonly kind: 'ready' }
  /** The model cannot be opened; the worker ends. */
  | { readonly kind: 'unusable'; readonly message: string }
  | { readonly kind: 'tokens'; readonly id: number; readonly values: Int8Array }
  | { readonly kind: 'failure'; readonly id: number; readonly message: string };

assert(parentPort !== null, 'this file is run as a worker only');
await serve(parentPort, workerData as WorkerSettings);

async function serve(port: MessagePort, settings: WorkerSettings): Promise<void> {
  const send = (answer: WorkerAnswer, transfer: ArrayBuffer[] = []): void =>
    port.postMessage(answer, transfer);
  let model: EncoderModel;
  try {
    model = await openEncoderModel(settings.directory, settings.card, settings.device);
  } catch (error) {
    send({ kind: 'unusable', message: messageOf(error) });
    return;
  }
  const answer = async (request: WorkerRequest): Promise<void> => {
    if (request === null) {
      await model.close();
      port.close();
      return;
    }
    const { id, task } = request;
    try {
      const values = await encodeTask(model, settings.card, task);
      send({ kind: 'tokens', id, values }, [values.buffer as ArrayBuffer]);
    } catch (error) {
      send({ kind: 'failure', id, message: messageOf(error) });
    }
  };
  let last = Promise.resolve();
  port.on('message', (request: WorkerRequest) => {
    last = last.then(() => answer(request));
  });
  send({ kind: 'ready' });
}

async function encodeTask(model: EncoderModel, card: EncoderCard, task: EncodeTask): Promise<Int8Array> {
  const vectors = await model.vectors(task.residues);
  const kept = vectors.subarray(task.keptStart * card.dimension, task.keptEnd * card.dimension);
  return quantise(kept, card.dimension, card.inverse_step);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
