import { Refusal } from '#src/errors.js';
import type { OperationId } from '../../src/contract/document/routes.js';
import { ROUTES } from '../../src/contract/document/routes.js';
import type { Route } from '../../src/contract/grammar/route.js';
import { canonicalSha256 } from '../../src/canonical.js';
import { openTables, type Tables } from '../../src/composition/tables.js';
import { respond } from '../../src/http/body/respond.js';
import {
  homologyHandlers,
  runHandlers,
  sqlCredentialHandlers,
  storageHandlers,
  webhookHandlers,
  type SearchServices,
} from '../../src/http/handlers.js';
import type { Shell, ShellContext, ShellState } from '../../src/http/shell.js';
import { replay } from '../../src/http/steps/replay.js';
import { Budgets } from '../../src/services/billing/budgets.js';
import { Metering } from '../../src/services/billing/metering.js';
import type { RequestContext } from '../../src/services/context.js';
import { Pages } from '../../src/services/pages.js';
import type { AnyReply } from '../../src/services/reply.js';
import { defineRunKind, type RunKind } from '../../src/services/runs/run-kind.js';
import { Runs } from '../../src/services/runs/runs.js';
import { SqlCredentials } from '../../src/services/sql/credentials.js';
import { Storage } from '../../src/services/storage/storage.js';
import { Webhooks } from '../../src/services/webhooks/webhooks.js';
import { openControlStore, type ControlStore } from '../../src/store/control-store.js';
import { sealingKey } from '../../src/store/secrets.js';
import { IdempotencyTable } from '../../src/store/tables/idempotency.js';
import { RUNS_AT_WORK_MAX_COUNT } from '../../src/limits.js';
import type { SimulatedDisk } from './disk.js';
import type { Receivers } from './receivers.js';
import type { Life } from './world.js';

/** A request of a client, in the form after validation. */
export interface ClientRequest {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly bytes?: Uint8Array;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly isReplayed: boolean;
}

type AnyHandler = (input: unknown, context: RequestContext) => Promise<AnyReply<unknown>>;

/** The machine on which servers run one after the other. */
export interface Machine {
  readonly folder: string;
  readonly disk: SimulatedDisk;
  readonly receivers: Receivers;
  readonly onFault: (error: unknown) => void;
}

const QUOTA_BYTES = 1 << 20;
const ROUTES_BY_ID: Readonly<Record<string, Route>> = ROUTES;

/**
 * Real services over the real control store, with the real server's handling of keyed requests. Only searches are
 * simulated.
 */
export class SimulatedAppliance {
  readonly store: ControlStore;
  readonly tables: Tables;
  readonly runs: Runs;
  readonly #life: Life;
  readonly #machine: Machine;
  readonly #storage: Storage;
  readonly #webhooks: Webhooks;
  readonly #handlers: Readonly<Record<string, AnyHandler>>;
  readonly #shell: Shell;

  private constructor(life: Life, machine: Machine, store: ControlStore, tables: Tables, seal: Buffer) {
    const { world } = life;
    const { now } = world;
    const pages = new Pages(seal);
    this.#life = life;
    this.#machine = machine;
    this.store = store;
    this.tables = tables;
    this.#webhooks = new Webhooks({
      table: tables.webhooks,
      pages,
      addresses: { resolve: async () => ({ address: '192.0.2.1', family: 4 }) },
      now,
      world,
      random: world.random,
      send: machine.receivers.senderOf(life),
    });
    const onChange = (): void => this.#webhooks.wake();
    const bounds = { quotaBytes: QUOTA_BYTES, reserveBytes: 0 };
    this.#storage = new Storage({ tables: tables.storage, bounds, sealingKey: seal, now, world, onChange });
    this.runs = new Runs({
      table: tables.runs,
      kinds: [searches(life)],
      pages,
      receipts: {
        get: (id) => {
          throw new Refusal('receipt_not_found', `Simulated searches have no receipt ${id}.`);
        },
      },
      now,
      world,
      concurrency: RUNS_AT_WORK_MAX_COUNT,
      requireWebhookEndpoint: (id, context) => this.#webhooks.requireEndpoint(id, context),
      onChange,
    });
    const budgets = new Budgets({}, { currency: 'EUR', unit_prices: {} }, tables.usage);
    const metering = new Metering(tables.usage, now, world);
    const homology = {
      search: () => life.later(life.timeline.between(1, 50), 'search', () => ({ value: {} })),
    };
    this.#handlers = {
      ...runHandlers({ runs: this.runs, budgets }),
      ...storageHandlers({ storage: this.#storage }),
      ...webhookHandlers({ webhooks: this.#webhooks }),
      ...sqlCredentialHandlers({
        sqlCredentials: new SqlCredentials({ table: tables.sqlCredentials, pages, now, world }),
      } as Parameters<typeof sqlCredentialHandlers>[0]),
      ...homologyHandlers({ homology, budgets, metering, pages } as unknown as SearchServices),
    } as unknown as Readonly<Record<string, AnyHandler>>;
    this.#shell = {
      idempotency: new IdempotencyTable(store),
      clock: { now, nowMs: world.monotonicMs },
      baseUrl: () => 'https://simulated.example',
      serverVersion: 'simulated',
    } as unknown as Shell;
  }

  /** Starts a server. Errors  those of a server that cannot start on a full disk */
  static async boot(life: Life, machine: Machine): Promise<SimulatedAppliance> {
    const { world } = life;
    const { disk, folder } = machine;
    const store = openControlStore(folder, {
      world,
      isSynced: false,
      through: (root) => disk.commitsOf(life, root),
    });
    life.closes(() => store.close());
    const tables = openTables(store, folder, world.now, disk.filesOf(life));
    const seal = await sealingKey(store);
    const appliance = new SimulatedAppliance(life, machine, store, tables, seal);
    await appliance.#start();
    return appliance;
  }

  /** Starts the services as `serve` does. */
  async #start(): Promise<void> {
    const { onFault } = this.#machine;
    await this.#storage.start(onFault);
    await this.runs.start(onFault);
    this.#webhooks.start(onFault);
  }

  /**
   * Runs the steps of the real server that follow authentication.
   * Errors  those of the services
   */
  async ask(
    operation: OperationId,
    organizationId: string,
    request: ClientRequest,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { world } = this.#life;
    const requestId = world.newId('req');
    const { params = {}, query = {}, body, key, bytes } = request;
    const headers = { ...request.headers, ...(key !== undefined && { 'Idempotency-Key': key }) };
    const principal = { organizationId, keyId: `key_${organizationId}` };
    const state = {
      ...{
        requestId,
        receivedAtMs: world.monotonicMs(),
        signal,
        principal,
        headers,
        params,
        query,
        operation,
      },
      route: ROUTES_BY_ID[operation],
      inputHash: canonicalSha256(body ?? null),
      input: { params, query, body },
    } as unknown as ShellState;
    const context = responseContext(state);
    await replay(this.#shell)(context, async () => {
      const rawBody = bytes && { announcedBytes: bytes.length, bytes: onePiece(bytes) };
      const { keyed, receivedAtMs } = state;
      const from = { ...principal, requestId, signal, receivedAtMs, ...(keyed && { keyed }) };
      const reply = await this.#handlers[operation]({ params, query, body, headers, rawBody }, from);
      if (reply !== state.remembered) respond(this.#shell, context, reply);
    });
    const isReplayed = context.response.headers['Idempotent-Replayed'] !== undefined;
    return { status: context.status, body: JSON.parse(context.body as string), isReplayed };
  }
}

/** The part of Koa's context that a JSON answer needs. */
function responseContext(state: ShellState): ShellContext {
  const headers: Record<string, string> = {};
  const set = (name: string | Record<string, string>, value = ''): void =>
    void Object.assign(headers, typeof name === 'string' ? { [name]: value } : name);
  return { state, status: 404, body: undefined, set, response: { headers } } as unknown as ShellContext;
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Stub of homology searches: rows of integers in pieces, at times of the timeline. */
function searches(life: Life): RunKind {
  interface Plan {
    readonly pieces: number;
  }
  return defineRunKind<'homology.search', Plan>({
    key: 'homology.search',
    prepare: async (input) => {
      const { pieces } = input as unknown as Plan;
      return { plan: { pieces }, totalCount: pieces };
    },
    async *execute({ pieces }, { checkpoint, context: { signal } }) {
      for (let piece = (checkpoint as number | undefined) ?? 0; ; piece += 1) {
        await life.later(life.timeline.between(5, 500), 'kernels', () => signal.throwIfAborted());
        const rows = [{ piece }];
        const doneCount = piece + 1;
        if (doneCount === pieces)
          return { rows, doneCount, summarise: () => ({ pieces }), billableUnits: pieces };
        yield { rows, doneCount, stage: 'searching', checkpoint: doneCount };
      }
    },
  });
}
