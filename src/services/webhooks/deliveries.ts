import * as fastq from 'fastq';
import type { queueAsPromised } from 'fastq';
import { linkAborts, untilAborted } from '../../abort.js';
import { WEBHOOK_ATTEMPT_TIMEOUT_MS, WEBHOOK_ATTEMPTS_AT_ONCE_MAX_COUNT } from '../../limits.js';
import type { WebhookDeliveryRow, WebhookEndpointRow, WebhookTable } from '../../store/tables/webhooks.js';
import { ForbiddenAddress, type AddressRules } from './address.js';
import { waitAfterAttempt } from './schedule.js';
import { sendWebhook } from './send.js';
import { signatureHeaders } from './sign.js';

/** Sends deliveries when they are due. */
export interface WebhookDeliveries {
  /** Attempts everything that is due now, and resolves when the outcomes are written; forgets what is old. */
  deliverDue(): Promise<void>;
  /** Delivers whatever becomes due, until stopped. */
  start(): void;
  /** Something may have become due. */
  wake(): void;
  stop(): Promise<void>;
}

export interface DeliveryParts {
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
const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

export function createWebhookDeliveries(parts: DeliveryParts): WebhookDeliveries {
  const { table, now } = parts;
  const stopping = new AbortController();
  const atWork = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let isStarted = false;
  let sweptAtMs = -Infinity;

  const attempts: queueAsPromised<WebhookDeliveryRow> = fastq.promise(async (delivery) => {
    try {
      await attempt(delivery, parts, stopping.signal);
    } catch (error) {
      // The delivery stays pending and due; the next round tries again.
      if (!stopping.signal.aborted) parts.onFault(error);
    } finally {
      atWork.delete(delivery.id);
    }
  }, WEBHOOK_ATTEMPTS_AT_ONCE_MAX_COUNT);

  const sweep = async (): Promise<void> => {
    const at = now();
    if (at.getTime() - sweptAtMs < SWEEP_INTERVAL_MS) return;
    while (await table.sweep(at));
    sweptAtMs = at.getTime();
  };
  const deliverDue = async (): Promise<void> => {
    await sweep();
    while (!stopping.signal.aborted) {
      const due = table.due(now(), atWork.size + PAGE).filter(({ id }) => !atWork.has(id));
      if (due.length === 0) return;
      for (const { id } of due) atWork.add(id);
      await Promise.all(due.map((delivery) => attempts.push(delivery)));
    }
  };
  const round = async (): Promise<void> => {
    await deliverDue().catch(parts.onFault);
    if (stopping.signal.aborted) return;
    const next = table.nextDue();
    const waitMs = next === undefined ? POLL_MAX_MS : Date.parse(next) - now().getTime();
    clearTimeout(timer);
    // At least a second, so that a disk that refuses outcomes is not asked without pause.
    timer = setTimeout(() => void round(), Math.min(POLL_MAX_MS, Math.max(1_000, waitMs)));
    timer.unref();
  };
  return {
    deliverDue,
    start() {
      isStarted = true;
      void round();
    },
    wake() {
      if (isStarted && !stopping.signal.aborted) void round();
    },
    async stop() {
      clearTimeout(timer);
      stopping.abort(new Error('The server is stopping.'));
      await attempts.drained();
    },
  };
}

async function attempt(
  delivery: WebhookDeliveryRow,
  parts: DeliveryParts,
  stopping: AbortSignal,
): Promise<void> {
  const { table, now } = parts;
  const endpoint = table.endpoint(delivery.endpointId);
  if (endpoint === undefined || endpoint.disabledReason !== undefined) {
    const lastError = endpoint === undefined ? 'The endpoint was removed.' : 'The endpoint is disabled.';
    await table.settle(givenUp({ ...delivery, lastError }, now()), {});
    return;
  }
  const outcome = await send(delivery, endpoint, parts, stopping);
  stopping.throwIfAborted();
  await settle(delivery, endpoint, outcome, parts);
}

async function send(
  delivery: WebhookDeliveryRow,
  endpoint: WebhookEndpointRow,
  { addresses, now, attemptTimeoutMs = WEBHOOK_ATTEMPT_TIMEOUT_MS }: DeliveryParts,
  stopping: AbortSignal,
): Promise<Outcome> {
  const timeout = AbortSignal.timeout(attemptTimeoutMs);
  const url = new URL(endpoint.url);
  const at = now();
  const secrets = endpoint.secrets
    .filter(({ expiresAt }) => expiresAt === undefined || expiresAt > at.toISOString())
    .map(({ secret }) => secret);
  const headers = signatureHeaders(delivery.eventId, at, delivery.body, secrets);
  const { signal, release } = linkAborts(timeout, stopping);
  try {
    // A resolver cannot be interrupted, only not be waited for.
    const address = await untilAborted(addresses.resolve(url.hostname), signal);
    return { status: await sendWebhook({ url, headers, body: delivery.body }, address, signal) };
  } catch (error) {
    if (timeout.aborted) return { error: `No answer came within ${attemptTimeoutMs / 1000} s.` };
    if (error instanceof ForbiddenAddress) return { error: error.message };
    const { code, message } = error as NodeJS.ErrnoException;
    return { error: `The connection failed: ${code ?? message}.` };
  } finally {
    release();
  }
}

async function settle(
  delivery: WebhookDeliveryRow,
  endpoint: WebhookEndpointRow,
  { status, error }: Outcome,
  { table, now, random }: DeliveryParts,
): Promise<void> {
  const at = now();
  const time = at.toISOString();
  const { nextAttemptAt: _, lastError: __, responseStatusCode: ___, ...rest } = delivery;
  const attempted: WebhookDeliveryRow = {
    ...rest,
    attemptCount: delivery.attemptCount + 1,
    scheduledAttemptCount: delivery.scheduledAttemptCount + 1,
    updatedAt: time,
    ...(status !== undefined && { responseStatusCode: status }),
  };
  if (status !== undefined && status >= 200 && status < 300) {
    await table.settle({ ...attempted, status: 'delivered', deliveredAt: time }, { lastSuccessAt: time });
    return;
  }
  const failed = { ...attempted, lastError: error ?? `The receiver answered with status ${status}.` };
  const waitMs = status === 410 ? undefined : waitAfterAttempt(attempted.scheduledAttemptCount, random);
  if (waitMs !== undefined) {
    await table.settle({ ...failed, nextAttemptAt: new Date(at.getTime() + waitMs).toISOString() }, {});
    return;
  }
  const reason = status === 410 ? 'gone' : lastingFailure(table.endpoint(endpoint.id), delivery);
  await table.settle(
    givenUp(failed, at),
    reason === undefined ? {} : { disabledReason: reason, updatedAt: time },
  );
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
