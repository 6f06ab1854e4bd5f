import type { WebhookDeliveryRow, WebhookEndpointRow } from '../../store/tables/webhooks.js';
import { ATTEMPTS_AT_MS, SILENT_AGAIN_WAIT_MS, SILENT_WAIT_MS, waitAfterAttempt } from './schedule.js';

/** What one attempt brought: the status of an answer, or why none came. */
export type Outcome =
  | { readonly status: number; readonly error?: undefined }
  | { readonly status?: undefined; readonly error: string };

interface Attempt {
  readonly delivery: WebhookDeliveryRow;
  readonly startedAt: string;
  /** As it is after the attempt; undefined where it was removed meanwhile. */
  readonly endpoint: WebhookEndpointRow | undefined;
  readonly outcome: Outcome;
}

interface Settlement {
  readonly delivery: WebhookDeliveryRow;
  readonly endpoint: Partial<WebhookEndpointRow>;
}

const HEARD_FROM = { silence: undefined } as const;

/**
 * What an attempt means: an answer speaks for its delivery; no answer speaks for the endpoint, which is left alone for
 * a while with all that waits for it.
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
      endpoint: { ...HEARD_FROM, lastSuccessAt: time },
    };
  }
  const failed = { ...attempted, lastError: error ?? `The receiver answered with status ${status}.` };
  const heard = status === undefined ? silenceAfter(attempt, at) : HEARD_FROM;
  const waitMs = status === 410 ? undefined : waitAfterAttempt(attempted.scheduledAttemptCount, random);
  if (waitMs !== undefined) {
    const nextAttemptAt = new Date(at.getTime() + waitMs).toISOString();
    return { delivery: { ...failed, nextAttemptAt }, endpoint: heard };
  }
  const reason = status === 410 ? 'gone' : lastingFailure(attempt);
  return {
    delivery: givenUp(failed, at),
    endpoint: { ...heard, ...(reason !== undefined && { disabledReason: reason, updatedAt: time }) },
  };
}

export function givenUp(delivery: WebhookDeliveryRow, at: Date): WebhookDeliveryRow {
  const { nextAttemptAt: _, ...rest } = delivery;
  const time = at.toISOString();
  return { ...rest, status: 'failed', failedAt: time, updatedAt: time };
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

/** The wait grows once; where many deliveries wait, each attempt is another's, and all of them make one schedule. */
function silenceAfter({ endpoint, startedAt }: Attempt, at: Date): Partial<WebhookEndpointRow> {
  if (endpoint === undefined) return {};
  const { silence, lastSuccessAt = '' } = endpoint;
  // Another attempt of the same time has told it, or the endpoint was heard from meanwhile.
  if (lastSuccessAt >= startedAt || (silence !== undefined && silence.since >= startedAt)) return {};
  const time = at.toISOString();
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

/** A receiver that took nothing while one delivery went through its whole schedule is not there any more. */
function lastingFailure({ endpoint, delivery }: Attempt): 'lasting_failure' | undefined {
  return (endpoint?.lastSuccessAt ?? '') < delivery.scheduleStartedAt ? 'lasting_failure' : undefined;
}
