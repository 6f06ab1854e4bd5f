import type { WebhookDeliveryRow, WebhookEndpointRow } from '../../store/tables/webhooks.js';
import { ATTEMPTS_AT_MS, SILENT_AGAIN_WAIT_MS, SILENT_WAIT_MS, waitAfterAttempt } from './schedule.js';

/** Outcome of one attempt: the status of the response, or the reason why none came. */
export type Outcome =
  | { readonly status: number; readonly error?: undefined }
  | { readonly status?: undefined; readonly error: string };

interface Attempt {
  readonly delivery: WebhookDeliveryRow;
  readonly startedAt: string;
  /** State before the attempt; undefined if the endpoint was removed meanwhile. */
  readonly endpoint: WebhookEndpointRow | undefined;
  readonly outcome: Outcome;
}

interface Settlement {
  readonly delivery: WebhookDeliveryRow;
  readonly endpoint: Partial<WebhookEndpointRow>;
}

const NO_SILENCE = { silence: undefined } as const;

/**
 * Effect of an attempt: a response affects its delivery. A missing response affects the endpoint, whose deliveries all
 * pause.
 * @param random in [0, 1)
 */
export function settle(attempt: Attempt, at: Date, random: () => number): Settlement {
  const { delivery, outcome } = attempt;
  const { status, error } = outcome;
  const time = at.toISOString();
  const attempted = attemptedAt(delivery, time, status);
  if (status !== undefined && status >= 200 && status < 300) {
    return {
      delivery: { ...attempted, status: 'delivered', deliveredAt: time },
      endpoint: { ...NO_SILENCE, lastSuccessAt: time },
    };
  }
  const failed = { ...attempted, lastError: error ?? `The receiver answered with status ${status}.` };
  const endpointChange = status === undefined ? silenceAfter(attempt, at) : NO_SILENCE;
  const waitMs = status === 410 ? undefined : waitAfterAttempt(attempted.scheduledAttemptCount, random);
  if (waitMs !== undefined) {
    const nextAttemptAt = new Date(at.getTime() + waitMs).toISOString();
    return { delivery: { ...failed, nextAttemptAt }, endpoint: endpointChange };
  }
  const reason = status === 410 ? 'gone' : lastingFailure(attempt);
  return {
    delivery: givenUp(failed, at),
    endpoint: { ...endpointChange, ...(reason !== undefined && { disabledReason: reason, updatedAt: time }) },
  };
}

export function givenUp(delivery: WebhookDeliveryRow, at: Date): WebhookDeliveryRow {
  const { nextAttemptAt: _, ...rest } = delivery;
  const time = at.toISOString();
  return { ...rest, status: 'failed', failedAt: time, updatedAt: time };
}

export function givenUpRemoved(delivery: WebhookDeliveryRow, at: Date): WebhookDeliveryRow {
  return givenUp({ ...delivery, lastError: 'The endpoint was removed.' }, at);
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

/** Increases the pause once per round. If many deliveries wait, all attempts share one schedule. */
function silenceAfter({ endpoint, startedAt }: Attempt, at: Date): Partial<WebhookEndpointRow> {
  if (endpoint === undefined) return {};
  const time = at.toISOString();
  // Times after this one are of a clock that was set back since, so that they say nothing.
  const silence =
    endpoint.silence !== undefined && endpoint.silence.since <= time ? endpoint.silence : undefined;
  const { lastSuccessAt = '' } = endpoint;
  const isAnswered = lastSuccessAt >= startedAt && lastSuccessAt <= time;
  // A concurrent attempt has counted already, or the endpoint has responded meanwhile.
  if (isAnswered || (silence !== undefined && silence.since >= startedAt)) return {};
  const { since = time, attemptCount: before = 0 } = silence ?? {};
  const attemptCount = before + 1;
  const waitMs = before === 0 ? SILENT_WAIT_MS : SILENT_AGAIN_WAIT_MS;
  const isLasting =
    attemptCount >= ATTEMPTS_AT_MS.length && at.getTime() - Date.parse(since) >= ATTEMPTS_AT_MS.at(-1)!;
  return {
    silence: { since, attemptCount, retryAt: new Date(at.getTime() + waitMs).toISOString() },
    ...(isLasting && { disabledReason: 'lasting_failure', updatedAt: time }),
  };
}

/** A receiver that accepted no message during the whole schedule of one delivery counts as gone. */
function lastingFailure({ endpoint, delivery }: Attempt): 'lasting_failure' | undefined {
  return (endpoint?.lastSuccessAt ?? '') < delivery.scheduleStartedAt ? 'lasting_failure' : undefined;
}
