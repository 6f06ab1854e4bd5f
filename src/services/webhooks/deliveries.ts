import * as fastq from 'fastq';
import type { queueAsPromised } from 'fastq';
import { untilAborted } from '../../abort.js';
import { WEBHOOK_ATTEMPT_TIMEOUT_MS, WEBHOOK_ATTEMPTS_AT_ONCE_MAX_COUNT } from '../../limits.js';
import type { WebhookDeliveryRow, WebhookEndpointRow, WebhookTable } from '../../store/tables/webhooks.js';
import { ForbiddenAddress, type AddressRules } from './address.js';
import { waitAfterAttempt } from './schedule.js';
import { sendWebhook } from './send.js';
import { signatureHeaders } from './sign.js';

interface DeliveriesDependencies {
  readonly table: WebhookTable;
  readonly addresses: AddressRules;
  readonly now: () => Date;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onFault: (error: unknown) => void;
  /** Default WEBHOOK_ATTEMPT_TIMEOUT_MS. */
  readonly attemptTimeoutMs?: number;
}

/** What one attempt brought. */
type Outcome =
  | { readonly status: number; readonly error?: undefined }
  | { readonly status?: undefined; readonly error: string };

/** A release that is published on the command line brings deliveries that nobody wakes this process for. */
const POLL_MAX_MS = 5_000;
const PAGE = 64;
/** At least so long between two rounds, so that a disk that refuses outcomes is not asked without pause. */
const POLL_MIN_MS = 1_000;
const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

/** Sends deliveries when they are due. */
export class WebhookDeliveries {
  readonly #dependencies: DeliveriesDependencies;
  readonly #table: WebhookTable;
  readonly #attemptTimeoutMs: number;
  readonly #attempts: queueAsPromised<WebhookDeliveryRow>;
  /** Ids of deliveries whose attempt waits or is on its way. */
  readonly #atWork = new Set<string>();
  /** Of each attempt that is on its way: a signal that lived longer would keep what was derived from it. */
  readonly #sending = new Set<AbortController>();
  #timer: NodeJS.Timeout | undefined;
  #isStarted = false;
  #isStopping = false;
  #sweptAtMs = -Infinity;

  constructor(dependencies: DeliveriesDependencies) {
    this.#dependencies = dependencies;
    this.#table = dependencies.table;
    this.#attemptTimeoutMs = dependencies.attemptTimeoutMs ?? WEBHOOK_ATTEMPT_TIMEOUT_MS;
    this.#attempts = fastq.promise(
      (delivery: WebhookDeliveryRow) => this.#serve(delivery),
      WEBHOOK_ATTEMPTS_AT_ONCE_MAX_COUNT,
    );
  }

  /** Attempts everything that is due now, and resolves when the outcomes are written; forgets what is old. */
  async deliverDue(): Promise<void> {
    await this.#sweep();
    while (!this.#isStopping) {
      const due = this.#table
        .due(this.#dependencies.now(), this.#atWork.size + PAGE)
        .filter(({ id }) => !this.#atWork.has(id));
      if (due.length === 0) return;
      for (const { id } of due) this.#atWork.add(id);
      await Promise.all(due.map((delivery) => this.#attempts.push(delivery)));
    }
  }

  /** Delivers whatever becomes due, until stopped. */
  start(): void {
    this.#isStarted = true;
    void this.#round();
  }

  /** Something may have become due. */
  wake(): void {
    if (this.#isStarted && !this.#isStopping) void this.#round();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isStopping = true;
    for (const ending of this.#sending) ending.abort(new Error('The server is stopping.'));
    await this.#attempts.drained();
  }

  async #round(): Promise<void> {
    const { now, onFault } = this.#dependencies;
    await this.deliverDue().catch(onFault);
    if (this.#isStopping) return;
    const next = this.#table.nextDue();
    const waitMs = next === undefined ? POLL_MAX_MS : Date.parse(next) - now().getTime();
    clearTimeout(this.#timer);
    const boundedMs = Math.min(POLL_MAX_MS, Math.max(POLL_MIN_MS, waitMs));
    this.#timer = setTimeout(() => void this.#round(), boundedMs).unref();
  }

  async #sweep(): Promise<void> {
    const at = this.#dependencies.now();
    if (at.getTime() - this.#sweptAtMs < SWEEP_INTERVAL_MS) return;
    while (await this.#table.sweep(at));
    this.#sweptAtMs = at.getTime();
  }

  async #serve(delivery: WebhookDeliveryRow): Promise<void> {
    try {
      if (!this.#isStopping) await this.#attempt(delivery);
    } catch (error) {
      // The delivery stays pending and due; the next round tries again.
      if (!this.#isStopping) this.#dependencies.onFault(error);
    } finally {
      this.#atWork.delete(delivery.id);
    }
  }

  async #attempt(delivery: WebhookDeliveryRow): Promise<void> {
    const endpoint = this.#table.endpoint(delivery.endpointId);
    if (endpoint === undefined || endpoint.disabledReason !== undefined) {
      const lastError = endpoint === undefined ? 'The endpoint was removed.' : 'The endpoint is disabled.';
      await this.#table.settle(givenUp({ ...delivery, lastError }, this.#dependencies.now()), {});
      return;
    }
    const outcome = await this.#send(delivery, endpoint);
    // What was cut off by the end of the server says nothing about the receiver.
    if (!this.#isStopping) await this.#settle(delivery, endpoint, outcome);
  }

  async #send(delivery: WebhookDeliveryRow, { url: text, secrets }: WebhookEndpointRow): Promise<Outcome> {
    const { addresses, now } = this.#dependencies;
    const at = now();
    const valid = secrets
      .filter(({ expiresAt }) => expiresAt === undefined || expiresAt > at.toISOString())
      .map(({ secret }) => secret);
    const headers = signatureHeaders(delivery.eventId, at, delivery.body, valid);
    const url = new URL(text);
    const ending = new AbortController();
    const { signal } = ending;
    const timeout = new Error(`No answer came within ${this.#attemptTimeoutMs / 1000} s.`);
    const timer = setTimeout(() => ending.abort(timeout), this.#attemptTimeoutMs);
    this.#sending.add(ending);
    try {
      const address = await untilAborted(addresses.resolve(url.hostname), signal);
      return { status: await sendWebhook({ url, headers, body: delivery.body }, address, signal) };
    } catch (error) {
      if (signal.reason === timeout) return { error: timeout.message };
      if (error instanceof ForbiddenAddress) return { error: error.message };
      const { code, message } = error as NodeJS.ErrnoException;
      return { error: `The connection failed: ${code ?? message}.` };
    } finally {
      clearTimeout(timer);
      this.#sending.delete(ending);
    }
  }

  async #settle(
    delivery: WebhookDeliveryRow,
    { id }: WebhookEndpointRow,
    { status, error }: Outcome,
  ): Promise<void> {
    const at = this.#dependencies.now();
    const time = at.toISOString();
    const attempted = attemptedAt(delivery, time, status);
    if (status !== undefined && status >= 200 && status < 300) {
      const delivered: WebhookDeliveryRow = { ...attempted, status: 'delivered', deliveredAt: time };
      await this.#table.settle(delivered, { lastSuccessAt: time });
      return;
    }
    const failed = { ...attempted, lastError: error ?? `The receiver answered with status ${status}.` };
    const { random } = this.#dependencies;
    const waitMs = status === 410 ? undefined : waitAfterAttempt(attempted.scheduledAttemptCount, random);
    if (waitMs !== undefined) {
      const nextAttemptAt = new Date(at.getTime() + waitMs).toISOString();
      await this.#table.settle({ ...failed, nextAttemptAt }, {});
      return;
    }
    const reason = status === 410 ? 'gone' : lastingFailure(this.#table.endpoint(id), delivery);
    await this.#table.settle(
      givenUp(failed, at),
      reason === undefined ? {} : { disabledReason: reason, updatedAt: time },
    );
  }
}

function attemptedAt(
  { nextAttemptAt: _, lastError: __, responseStatusCode: ___, ...rest }: WebhookDeliveryRow,
  time: string,
  status: number | undefined,
): WebhookDeliveryRow {
  return {
    ...rest,
    attemptCount: rest.attemptCount + 1,
    scheduledAttemptCount: rest.scheduledAttemptCount + 1,
    updatedAt: time,
    ...(status !== undefined && { responseStatusCode: status }),
  };
}

/** A receiver that took nothing while one delivery went through its whole schedule is not there any more. */
function lastingFailure(
  endpoint: WebhookEndpointRow | undefined,
  { scheduleStartedAt }: WebhookDeliveryRow,
): 'lasting_failure' | undefined {
  return (endpoint?.lastSuccessAt ?? '') < scheduleStartedAt ? 'lasting_failure' : undefined;
}

function givenUp(delivery: WebhookDeliveryRow, at: Date): WebhookDeliveryRow {
  const { nextAttemptAt: _, ...rest } = delivery;
  const time = at.toISOString();
  return { ...rest, status: 'failed', failedAt: time, updatedAt: time };
}
