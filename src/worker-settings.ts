import { resolve } from 'node:path';
import { Refusal } from './errors.js';

/** Who looks at parts of the targets in this appliance's place. */
export interface WorkerSettings {
  readonly nodes: readonly WorkerNode[];
  /** Into how many parts the targets of a release are divided; each of them is held by some node. */
  readonly partCount: number;
  /** What a search does when nobody answers for a part. */
  readonly onError: 'fail' | 'serve_locally';
  /** Until one node has answered for one part. */
  readonly timeoutMs: number;
  /** Slugs of the databases whose releases they have; absent = all. */
  readonly databases?: readonly string[];
}

/** One worker. */
export interface WorkerNode {
  /** `https://…`, or `http://` on this machine, without a slash at the end. */
  readonly url: string;
  /** Files: an API key, and PEM of the authority that has signed its certificate (absent = one that Node knows). */
  readonly keyFile: string;
  readonly authorityFile?: string;
  /** From 1 on. */
  readonly parts: readonly number[];
}

/** The settings as the file has them. */
export interface WorkerFile {
  readonly workers: readonly {
    readonly url: string;
    readonly key_file: string;
    readonly authority_file?: string;
    readonly parts: readonly number[];
  }[];
  readonly on_worker_error: WorkerSettings['onError'];
  readonly worker_timeout_seconds: number;
  readonly forwarded_databases?: readonly string[];
}

/** Undefined where there are none. Errors  Refusal `invalid_config` where a part is nobody's */
export function workersOf(file: WorkerFile): WorkerSettings | undefined {
  if (file.workers.length === 0) return undefined;
  const held = new Set(file.workers.flatMap(({ parts }) => parts));
  const partCount = Math.max(...held);
  const missing = Array.from({ length: partCount }, (_, part) => part + 1).find((part) => !held.has(part));
  if (missing !== undefined) {
    throw new Refusal(
      'invalid_config',
      `The configuration is not valid: workers has ${partCount} parts, and part ${missing} is nobody's.`,
    );
  }
  return {
    nodes: file.workers.map(({ url, key_file: keyFile, authority_file: authorityFile, parts }) => ({
      url: url.replace(/\/$/, ''),
      keyFile: resolve(keyFile),
      ...(authorityFile !== undefined && { authorityFile: resolve(authorityFile) }),
      parts,
    })),
    partCount,
    onError: file.on_worker_error,
    timeoutMs: file.worker_timeout_seconds * 1000,
    databases: file.forwarded_databases,
  };
}
