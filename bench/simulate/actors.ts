import type { OperationId } from '../../src/contract/document/routes.js';
import { failureOf } from '../../src/http/steps/failure.js';
import type { Answer, ClientRequest } from './appliance.js';
import type { Expectations, Intent, Kind } from './expectations.js';
import { Broken, type Operator } from './operator.js';
import type { Receivers } from './receivers.js';
import type { Timeline } from './world.js';

/** Environment of the clients. */
export interface Scene {
  readonly timeline: Timeline;
  readonly operator: Operator;
  readonly expectations: Expectations;
  readonly receivers: Receivers;
  readonly organizations: readonly string[];
  /** Last time at which the disk was full; the current time while it is full. Unit  simulated milliseconds */
  readonly fullAtMs: () => number;
  readonly isOver: () => boolean;
}

const ATTEMPTS_MAX_COUNT = 8;
const [KEYED_SHARE, TWIN_SHARE, IMPATIENT_SHARE] = [0.75, 0.15, 0.08];
/** A full disk may cause these codes until this time after it has room: the usage ledger retries a second later. */
const FULL_ECHO_MS = 2_000;
const FULL_CODES = new Set(['storage_unavailable', 'storage_full']);
/** Codes after which the client retries with the same key. */
const AGAIN = new Set([...FULL_CODES, 'idempotency_key_in_use', 'client_closed_request', 'lost']);

type Outcome =
  | { readonly answer: Answer; readonly code?: undefined }
  | { readonly answer?: undefined; readonly code: string };

/** A random client of an organization. It sends requests, disconnects, retries, and records every acknowledgement. */
export class Client {
  readonly #scene: Scene;
  readonly #organizationId: string;
  readonly #name: string;
  #count = 0;

  constructor(scene: Scene, organizationId: string, name: string) {
    this.#scene = scene;
    this.#organizationId = organizationId;
    this.#name = name;
  }

  async live(): Promise<void> {
    const { timeline, isOver } = this.#scene;
    await this.#createEndpoint();
    while (!isOver()) {
      await timeline.sleep(timeline.between(20, 4_000), `${this.#name} acts`);
      if (!isOver()) await this.#act();
    }
  }

  #act(): Promise<unknown> {
    const chance = this.#scene.timeline.random.below(100);
    if (chance < 40) return this.#createRun();
    if (chance < 52) return this.#end('runs', 'runs.cancel', 'run_id');
    if (chance < 70) return this.#upload();
    if (chance < 75) return this.#deleteFile();
    if (chance < 78) return this.#createEndpoint();
    if (chance < 82) return this.#end('webhook-endpoints', 'webhooks.endpoints.delete', 'endpoint_id');
    if (chance < 90) return this.#search();
    if (chance < 91) return this.#createCredential();
    return chance < 96 ? this.#list() : this.#spy();
  }

  async #createRun(): Promise<void> {
    const { timeline } = this.#scene;
    const pieces = 1 + timeline.random.below(3);
    const priority = timeline.pick(['high', 'normal', 'low']);
    await this.#create('runs', 'runs.create', (label) => ({
      body: {
        endpoint: 'homology.search',
        input: { pieces },
        label,
        priority,
        background: timeline.isChance(0.8),
      },
    }));
  }

  #createEndpoint(): Promise<unknown> {
    return this.#create('webhook-endpoints', 'webhooks.endpoints.create', (label) => {
      const host = `${label}.example`;
      this.#scene.receivers.add(host);
      return { body: { url: `https://${host}/`, description: label } };
    });
  }

  #createCredential(): Promise<unknown> {
    return this.#create('sql-credentials', 'sql_credentials.create', (label) => ({ body: { name: label } }));
  }

  /** Uploads a file from announcement to completion, or until the client gives up. */
  async #upload(): Promise<void> {
    const { timeline, expectations } = this.#scene;
    const bytes = Buffer.alloc(1 + timeline.random.below(3_000), timeline.random.below(4));
    const intent = await this.#create('uploads', 'storage.uploads.create', (label) => ({
      body: { file_name: `${label}.txt`, size_bytes: bytes.length },
    }));
    const [id] = intent?.ids ?? [];
    if (id === undefined || intent === undefined) return;
    const params = { upload_id: id, part_number: '1' };
    if (!(await this.#insist('storage.uploads.parts.put', { params, bytes }))) return;
    if (!(await this.#insist('storage.uploads.parts.acknowledge', { params, body: {} }))) return;
    if (timeline.isChance(0.1)) {
      expectations.removing(intent);
      if (await this.#insist('storage.uploads.abort', { params })) expectations.removed(intent);
      return;
    }
    const completed = await this.#insist('storage.uploads.complete', { params });
    if (completed !== undefined) expectations.stored(this.#organizationId, pathOf(intent), bytes);
  }

  async #deleteFile(): Promise<void> {
    const { timeline, expectations } = this.#scene;
    const paths = expectations.filesOf(this.#organizationId);
    if (paths.length === 0) return;
    const path = timeline.pick(paths);
    expectations.deleting(this.#organizationId, path);
    const answer = await this.#insist('storage.files.delete', { query: { path } });
    if (answer !== undefined) expectations.deleted(this.#organizationId, path);
  }

  async #end(kind: Kind, operation: OperationId, parameter: string): Promise<void> {
    const { timeline, expectations } = this.#scene;
    const living = expectations.living(kind, this.#organizationId);
    if (living.length === 0) return;
    const intent = timeline.pick(living);
    const [id] = intent.ids;
    expectations.removing(intent);
    if (await this.#insist(operation, { params: { [parameter]: id } })) expectations.removed(intent);
  }

  async #search(): Promise<void> {
    const { expectations } = this.#scene;
    expectations.searching(this.#organizationId);
    const { answer } = await this.#send('homology.search', { body: {} });
    if (answer !== undefined) expectations.searched(this.#organizationId);
  }

  async #list(): Promise<void> {
    const operation = this.#scene.timeline.pick([
      'runs.list',
      'webhooks.endpoints.list',
      'webhooks.deliveries.list',
    ]);
    await this.#send(operation as OperationId, { query: { limit: 50 } });
  }

  /** Requests an object of another organization. The answer must reveal nothing. */
  async #spy(): Promise<void> {
    const { timeline, expectations, organizations } = this.#scene;
    const other = timeline.pick(organizations.filter((name) => name !== this.#organizationId));
    const runs = expectations.living('runs', other);
    if (runs.length === 0) return;
    const [id] = timeline.pick(runs).ids;
    const operation = timeline.pick(['runs.get', 'runs.cancel', 'runs.results.list']);
    const { answer } = await this.#send(operation as OperationId, {
      params: { run_id: id },
      query: { limit: 10 },
    });
    if (answer !== undefined)
      throw new Broken(`${this.#organizationId} got an answer about ${other}: ${operation}`);
  }

  async #create(
    kind: Kind,
    operation: OperationId,
    make: (label: string) => ClientRequest,
  ): Promise<Intent | undefined> {
    const { timeline, expectations } = this.#scene;
    this.#count += 1;
    const label = `${this.#name}-${this.#count}`;
    const isKeyed = timeline.isChance(KEYED_SHARE);
    const request = { ...make(label), ...(isKeyed && { key: `key of ${label}` }) };
    const intent = expectations.intend({ kind, label, organizationId: this.#organizationId, isKeyed });
    const once = async (): Promise<void> => {
      const answer = isKeyed
        ? await this.#insist(operation, request)
        : (await this.#send(operation, request)).answer;
      if (answer !== undefined) expectations.acknowledged(intent, idOf(answer));
    };
    await Promise.all(isKeyed && timeline.isChance(TWIN_SHARE) ? [once(), once()] : [once()]);
    return intent.ids.size === 0 ? undefined : intent;
  }

  /** Retries until a success, a final refusal or the last attempt. */
  async #insist(operation: OperationId, request: ClientRequest): Promise<Answer | undefined> {
    const { timeline } = this.#scene;
    for (let attempt = 0; attempt < ATTEMPTS_MAX_COUNT; attempt += 1) {
      const outcome = await this.#send(operation, request);
      if (outcome.code === undefined) return outcome.answer;
      if (!AGAIN.has(outcome.code)) return undefined;
      await timeline.sleep(timeline.between(5, 3_000), `${this.#name} tries ${operation} again`);
    }
    return undefined;
  }

  async #send(operation: OperationId, request: ClientRequest): Promise<Outcome> {
    const { timeline, operator, fullAtMs } = this.#scene;
    const sentAtMs = timeline.nowMs;
    const leaving = new AbortController();
    if (timeline.isChance(IMPATIENT_SHARE)) {
      const left = Object.assign(new Error('The client has left.'), { code: 'ECONNRESET' });
      timeline.after(timeline.between(0.1, 200), `${this.#name} leaves`, () => leaving.abort(left));
    }
    let outcome: Outcome;
    try {
      const answer = await operator.connect((server) =>
        server.ask(operation, this.#organizationId, request, leaving.signal),
      );
      outcome = answer === undefined ? { code: 'lost' } : { answer };
    } catch (error) {
      const { code } = failureOf(error);
      const isExcused = FULL_CODES.has(code) && fullAtMs() >= sentAtMs - FULL_ECHO_MS;
      if (code === 'internal_error' || (FULL_CODES.has(code) && !isExcused)) {
        throw new Broken(`${operation} failed: ${code}`, { cause: error });
      }
      outcome = { code };
    }
    timeline.note(`${this.#name} ${operation} ${outcome.code ?? outcome.answer.status}`);
    if (outcome.code === undefined) this.#requireOwn(outcome.answer);
    return leaving.signal.aborted ? { code: 'lost' } : outcome;
  }

  /**
   * Requires that the answer contains no label of another organization. Each label begins with the name of its
   * organization.
   */
  #requireOwn({ body }: Answer): void {
    const text = JSON.stringify(body);
    const seen = this.#scene.organizations.find(
      (name) => name !== this.#organizationId && text.includes(`${name}-`),
    );
    if (seen !== undefined) throw new Broken(`${this.#organizationId} saw data of ${seen}: ${text}`);
  }
}

function pathOf({ label }: Intent): string {
  return `${label}.txt`;
}

function idOf({ body }: Answer): string {
  const value = (body as { readonly data?: unknown }).data ?? body;
  const { id, sql_credential: credential } = value as {
    readonly id: string;
    readonly sql_credential?: { id: string };
  };
  return credential?.id ?? id;
}
