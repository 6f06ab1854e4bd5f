import { Worker } from 'node:worker_threads';
import { Fault, Refusal } from '../../errors.js';
import type { ExportAnswer, ExportPiece, ExportRequest, ExportSettings } from './export-worker.js';

/** The compiled entry point, beside this file. */
const WORKER_FILE = new URL('./export-worker.js', import.meta.url);
/** The thread holds a block of rows and a group of columns or, for a FASTA file, the ids of all its targets. */
const HEAP = { maxOldGenerationSizeMb: 768, maxYoungGenerationSizeMb: 8 };

interface PendingRequest {
  readonly resolve: (piece: ExportPiece) => void;
  readonly reject: (error: Error) => void;
}

/** Client of the thread that writes one export. The caller sends one request at a time, and closes the thread. */
export class ExportThread {
  readonly #worker: Worker;
  #pending: PendingRequest | undefined;
  #ended: Fault | undefined;

  constructor(settings: ExportSettings) {
    this.#worker = new Worker(WORKER_FILE, { workerData: settings, resourceLimits: HEAP });
    this.#worker.on('message', (answer: ExportAnswer) => this.#take(answer));
    this.#worker.on('error', (cause) => this.#end(cause));
    this.#worker.on('exit', (code) => this.#end(new Error(`exit code ${code}`)));
  }

  /**
   * Returns the bytes that some rows of a stored block add to the file; null requests the end of the file.
   * Errors  Refusal `export_not_possible`; Fault if the block cannot be read or the thread ends
   */
  write(request: ExportRequest): Promise<ExportPiece> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      this.#pending = { resolve, reject };
      this.#worker.postMessage(request);
    });
  }

  /** Ends the thread at once. An open request rejects, even if its response was sent. */
  async close(): Promise<void> {
    this.#end(undefined);
    await this.#worker.terminate();
  }

  #take(answer: ExportAnswer): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if ('piece' in answer) pending?.resolve(answer.piece);
    else if ('failure' in answer)
      pending?.reject(new Fault(`An export cannot be written: ${answer.failure}`));
    else pending?.reject(new Refusal(answer.refusal.code, answer.refusal.message, answer.refusal.details));
  }

  #end(cause: unknown): void {
    this.#ended ??= new Fault('The thread that writes an export has ended.', { cause });
    this.#pending?.reject(this.#ended);
    this.#pending = undefined;
  }
}
