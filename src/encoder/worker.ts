/* Entry point of an encoder's worker thread: holds one model and answers tasks one by one, in order. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { assert } from '../errors.js';
import { quantise } from '../kernels/quantise.js';
import { openEncoderModel, type EncoderDevice, type EncoderModel } from './model.js';

import type { EncoderCard } from './encoder.js';

export interface WorkerSettings {
  readonly directory: string;
  readonly card: EncoderCard;
  readonly device: EncoderDevice;
}

/**
 * Residues of one model run, and what is wanted of them: see EncodeWindow, but counted from this run's start.
 */
export interface EncodeTask {
  readonly residues: string;
  readonly keptStart: number;
  readonly keptEnd: number;
  readonly fadeIn: number;
  readonly fadeOut: number;
}

/**
 * What a run gave: tokens between the fades, and unit vectors of the fades, which need the neighbours' first.
 */
export interface EncodedWindow {
  readonly tokens: Int8Array;
  readonly fadeIn: Float32Array;
  readonly fadeOut: Float32Array;
}

/** Null asks the worker to end. */
export type WorkerRequest = { readonly id: number; readonly task: EncodeTask } | null;

export type WorkerAnswer =
  | { readonly kind: 'ready' }
  /** The model cannot be opened; the worker ends. */
  | { readonly kind: 'unusable'; readonly message: string }
  | { readonly kind: 'encoded'; readonly id: number; readonly window: EncodedWindow }
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
      const window = await encodeTask(model, settings.card, task);
      send(
        { kind: 'encoded', id, window },
        Object.values(window).map(({ buffer }) => buffer as ArrayBuffer),
      );
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

async function encodeTask(model: EncoderModel, card: EncoderCard, task: EncodeTask): Promise<EncodedWindow> {
  const { residues, keptStart, keptEnd, fadeIn, fadeOut } = task;
  const { dimension } = card;
  const vectors = await model.vectors(residues);
  const rows = (from: number, to: number): Float32Array => vectors.subarray(from * dimension, to * dimension);
  return {
    tokens: quantise(rows(keptStart + fadeIn, keptEnd - fadeOut), dimension, card.inverse_step),
    // Copies, because a view would send the whole window along.
    fadeIn: rows(keptStart, keptStart + fadeIn).slice(),
    fadeOut: rows(keptEnd - fadeOut, keptEnd).slice(),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
