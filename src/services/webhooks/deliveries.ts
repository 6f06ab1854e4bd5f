import { setImmediate as nextTurn } from 'node:timers/promises';
import { untilAborted } from '../../abort.js';
import {
  WEBHOOK_ATTEMPT_TIMEOUT_MS,
  WEBHOOK_ATTEMPTS_AT_ONCE_MAX_COUNT,
  WEBHOOK_ATTEMPTS_FOR_ANSWERING_COUNT,
  WEBHOOK_ATTEMPTS_PER_ENDPOINT_MAX_COUNT,
  WEBHOOK_ATTEMPTS_PER_ORGANIZATION_MAX_COUNT,
} from '../../limits.js';
import type { WebhookDeliveryRow, WebhookEndpointRow, WebhookTable } from '../../store/tables/webhooks.js';
import { realWorld, type World } from '../../world.js';
import { ForbiddenAddress, type AddressRules } from './address.js';
import { sendWebhook } from './send.js';
import { SILENT_AGAIN_WAIT_MS, WAIT_MAX_MS } from './schedule.js';
import { givenUp, givenUpRemoved, settle, type Outcome } from './settle.js';
import { signatureHeaders } from './sign.js';
import { Turns, type Lane } from './turns.js';

interface DeliveriesDependencies {
  readonly table: WebhookTable;
  readonly addresses: Pick<AddressRules, 'resolve'>;
  readonly now: () => Date;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onFault: (error: unknown) => void;
  /** Default WEBHOOK_ATTEMPT_TIMEOUT_MS. */
  readonly attemptTimeoutMs?: number;
  /** Default realWorld. */
  readonly world?: World;
  /** Default sendWebhook. */
  readonly send?: typeof sendWebhook;
}

/**
 * Upper bound on the pause. A release published on the command line enqueues deliveries without waking this process.
 */
const POLL_MAX_MS = 5_000;
/** Lower bound on the pause between two rounds, so that a disk that refuses outcomes is not retried without a pause. */
const POLL_MIN_MS = 1_000;
const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

/**
 * Whether a time is still to come. A time that lies further ahead than any wait is of a clock that was set back since,
 * so that it counts as past.
 */
function isAhead(time: string, nowMs: number, waitMaxMs: number): boolean {
  const aheadMs = Date.parse(time) - nowMs;
  return aheadMs > 0 && aheadMs <= waitMaxMs;
}

/** Due time, or now for a time of a clock that was set back. */
function dueMsOf(dueAt: string, nowMs: number): number {
  return isAhead(dueAt, nowMs, WAIT_MAX_MS) ? Date.parse(dueAt) : nowMs;
}

/** Sends due deliveries, with a fair schedule over endpoints. */
export class WebhookDeliveries {
  readonly #dependencies: DeliveriesDependencies;
  readonly #table: WebhookTable;
  readonly #world: World;
  readonly #post: typeof sendWebhook;
  readonly #attemptTimeoutMs: number;
  readonly #turns = new Turns({
    endpoint: WEBHOOK_ATTEMPTS_PER_ENDPOINT_MAX_COUNT,
    organization: WEBHOOK_ATTEMPTS_PER_ORGANIZATION_MAX_COUNT,
    ofAnswering: WEBHOOK_ATTEMPTS_FOR_ANSWERING_COUNT,
    all: WEBHOOK_ATTEMPTS_AT_ONCE_MAX_COUNT,
  });
  /** Attempts in progress, by id of their delivery. */
  readonly #atWork = new Set<string>();
  readonly #attempts = new Set<Promise<void>>();
  /** Endpoints of attempts whose outcome could not be written. They wait for the next round. */
  readonly #unwritten = new Set<string>();
  /** One controller per attempt. A shared one would retain the signals derived from it. */
  readonly #sending = new Set<AbortController>();
  #cancelRound: (() => void) | undefined;
  #isStarted = false;
  #isWoken = false;
  #isStopping = false;
  #sweptAtMs = -Infinity;

  constructor(dependencies: DeliveriesDependencies) {
    this.#dependencies = dependencies;
    this.#table = dependencies.table;
    this.#world = dependencies.world ?? realWorld;
    this.#post = dependencies.send ?? sendWebhook;
    this.#attemptTimeoutMs = dependencies.attemptTimeoutMs ?? WEBHOOK_ATTEMPT_TIMEOUT_MS;
  }

  /**
   * Attempts all due deliveries, and resolves when the outcomes are written. Also deletes old deliveries. Errors  those
   * of the disk
   */
  async deliverDue(): Promise<void> {
    await this.#sweep();
    await this.#giveUpOrphans();
    this.#unwritten.clear();
    while (!this.#isStopping) {
      this.#serveDue();
      if (this.#attempts.size === 0) return;
      await Promise.all(this.#attempts);
    }
  }

  /** Delivers due deliveries until stopped. */
  start(): void {
    this.#isStarted = true;
    void this.#round();
  }

  /** Notifies that deliveries may be due. Several calls in one turn of the event loop count as one. */
  wake(): void {
    if (!this.#isStarted || this.#isWoken || this.#isStopping) return;
    this.#isWoken = true;
    void nextTurn().then(() => {
      this.#isWoken = false;
      if (!this.#isStopping) this.#faultless(() => this.#serveDue());
    });
  }

  async stop(): Promise<void> {
    this.#cancelRound?.();
    this.#isStopping = true;
    for (const ending of this.#sending) ending.abort(new Error('The server is stopping.'));
    await Promise.all(this.#attempts);
  }

  async #round(): Promise<void> {
    await this.#sweep().catch(this.#dependencies.onFault);
    await this.#giveUpOrphans().catch(this.#dependencies.onFault);
    if (this.#isStopping) return;
    this.#unwritten.clear();
    const nextMs = this.#faultless(() => this.#serveDue()) ?? Infinity;
    const waitMs = nextMs - this.#dependencies.now().getTime();
    this.#cancelRound?.();
    const boundedMs = Math.min(POLL_MAX_MS, Math.max(POLL_MIN_MS, waitMs));
    this.#cancelRound = this.#world.setTimer(boundedMs, () => void this.#round());
  }

  #faultless<Result>(work: () => Result): Result | undefined {
    try {
      return work();
    } catch (error) {
      this.#dependencies.onFault(error);
      return undefined;
    }
  }

  async #sweep(): Promise<void> {
    const at = this.#dependencies.now();
    // The clock may have been set back.
    if (Math.abs(at.getTime() - this.#sweptAtMs) < SWEEP_INTERVAL_MS) return;
    while (await this.#table.sweep(at));
    this.#sweptAtMs = at.getTime();
  }

  /**
   * Gives up all pending deliveries of a removed endpoint.
   * Errors  those of the disk; the next round then gives up the rest
   */
  async giveUpRemoved(lane: Pick<Lane, 'organizationId' | 'endpointId'>): Promise<void> {
    const { now } = this.#dependencies;
    while (await this.#table.giveUp(lane, (delivery) => givenUpRemoved(delivery, now())));
  }

  /** Gives up what a process has left that ended between the removal of an endpoint and the end of its deliveries. */
  async #giveUpOrphans(): Promise<void> {
    const orphans = [...this.#table.waiting()].filter(
      ({ endpointId }) => this.#table.endpoint(endpointId) === undefined,
    );
    for (const lane of orphans) await this.giveUpRemoved(lane);
  }

  /** Starts all attempts that may start. Returns the time when the next endpoint has a due delivery. */
  #serveDue(): number {
    const nowMs = this.#dependencies.now().getTime();
    let nextMs = Infinity;
    for (const { organizationId, endpointId, dueAt } of this.#table.waiting()) {
      const dueMs = dueMsOf(dueAt, nowMs);
      if (dueMs <= nowMs) this.#want({ organizationId, endpointId });
      else nextMs = Math.min(nextMs, dueMs);
    }
    this.#serveWaiting();
    return nextMs;
  }

  #want(lane: Lane): void {
    const { lastSuccessAt, silence } = this.#table.endpoint(lane.endpointId) ?? {};
    this.#turns.want({ ...lane, hasAnswered: lastSuccessAt !== undefined && silence === undefined });
  }

  #serveWaiting(): void {
    for (let lane = this.#turns.next(); lane !== undefined; lane = this.#turns.next()) {
      const delivery = this.#dueOf(lane);
      if (delivery === undefined) this.#turns.rest(lane);
      else this.#serve(delivery, lane);
    }
  }

  /** An unresponsive endpoint gets one delivery at a time, not before its retry time. */
  #dueOf(lane: Lane): WebhookDeliveryRow | undefined {
    if (this.#unwritten.has(lane.endpointId)) return undefined;
    const now = this.#dependencies.now();
    const { silence } = this.#table.endpoint(lane.endpointId) ?? {};
    if (silence !== undefined) {
      const isPaused = isAhead(silence.retryAt, now.getTime(), SILENT_AGAIN_WAIT_MS);
      if (isPaused || this.#turns.atWork(lane.endpointId) > 0) return undefined;
    }
    return this.#table.due(lane, now, this.#atWork, WAIT_MAX_MS);
  }

  #serve(delivery: WebhookDeliveryRow, lane: Lane): void {
    this.#turns.begin(lane);
    this.#atWork.add(delivery.id);
    const attempt = this.#attempt(delivery)
      .catch((error: unknown) => {
        // The delivery stays pending and due; the next round tries again.
        this.#unwritten.add(lane.endpointId);
        if (!this.#isStopping) this.#dependencies.onFault(error);
      })
      .then(() => {
        this.#attempts.delete(attempt);
        this.#atWork.delete(delivery.id);
        this.#turns.end(lane);
        if (this.#isStopping) return;
        this.#faultless(() => {
          this.#want(lane);
          this.#serveWaiting();
        });
      });
    this.#attempts.add(attempt);
  }

  async #attempt(delivery: WebhookDeliveryRow): Promise<void> {
    const { now, random } = this.#dependencies;
    const startedAt = now().toISOString();
    const endpoint = this.#table.endpoint(delivery.endpointId);
    if (endpoint === undefined) {
      await this.#table.settle(givenUpRemoved(delivery, now()), {});
      return;
    }
    if (endpoint.disabledReason !== undefined) {
      await this.#table.settle(givenUp({ ...delivery, lastError: 'The endpoint is disabled.' }, now()), {});
      return;
    }
    const outcome = await this.#send(delivery, endpoint);
    // An attempt that the stop of the server cut off says nothing about the receiver.
    if (this.#isStopping) return;
    const after = this.#table.endpoint(endpoint.id);
    const settlement = settle({ delivery, startedAt, endpoint: after, outcome }, now(), random);
    const isOver = after !== undefined || settlement.delivery.status !== 'pending';
    const settled = isOver ? settlement.delivery : givenUpRemoved(settlement.delivery, now());
    await this.#table.settle(settled, settlement.endpoint);
  }

  async #send(delivery: WebhookDeliveryRow, { url: text, secrets }: WebhookEndpointRow): Promise<Outcome> {
    const { addresses, now } = this.#dependencies;
    const at = now();
    const valid = secrets
      .filter(({ expiresAt }) => expiresAt === undefined || expiresAt > at.toISOString())
      .map(({ secret }) => secret);
    if (valid.length === 0) return { error: 'The endpoint has lost its secret: rotate it.' };
    const headers = signatureHeaders(delivery.eventId, at, delivery.body, valid);
    const url = new URL(text);
    const ending = new AbortController();
    const { signal } = ending;
    const timeout = new Error(`No answer came within ${this.#attemptTimeoutMs / 1000} s.`);
    const cancelTimeout = this.#world.setTimer(this.#attemptTimeoutMs, () => ending.abort(timeout));
    this.#sending.add(ending);
    try {
      const address = await untilAborted(addresses.resolve(url.hostname), signal);
      return { status: await this.#post({ url, headers, body: delivery.body }, address, signal) };
    } catch (error) {
      if (signal.reason === timeout) return { error: timeout.message };
      if (error instanceof ForbiddenAddress) return { error: error.message };
      const { code, message } = error as NodeJS.ErrnoException;
      return { error: `The connection failed: ${code ?? message}.` };
    } finally {
      cancelTimeout();
      this.#sending.delete(ending);
    }
  }
}
