import { untilAborted } from '../../abort.js';
import { Refusal } from '../../errors.js';
import {
  COLABFOLD_ARCHIVE_ABANDONED_MS,
  COLABFOLD_ARCHIVES_AT_WORK_MAX_COUNT,
  COLABFOLD_ARCHIVES_WAITING_MAX_COUNT,
} from '../../limits.js';

/** An archive to be made. */
export interface ArchiveWork {
  /** Requests of equal keys share one archive. */
  readonly key: string;
  readonly organizationId: string;
  /** Errors  the signal's reason, once it aborts */
  readonly make: (signal: AbortSignal) => Promise<Buffer>;
}

/** An archive that waits or is in the making. */
interface Making extends ArchiveWork {
  readonly abort: AbortController;
  readonly start: () => void;
  readonly archive: Promise<Buffer>;
  isAtWork: boolean;
  requestCount: number;
  abandoned?: NodeJS.Timeout;
}

/** Why an archive was cancelled. */
class ArchiveAbandoned extends Error {
  override readonly name = 'ArchiveAbandoned';
}

/**
 * Makes archives in FIFO order: few at once, one per organization. An archive is cancelled when no request has waited
 * for it for some seconds.
 */
export class ArchiveQueue {
  readonly #abandonedMs: number;
  /** In order of arrival. */
  readonly #makings = new Map<string, Making>();

  /** @param abandonedMs  time without a request until an archive is cancelled */
  constructor(abandonedMs = COLABFOLD_ARCHIVE_ABANDONED_MS) {
    this.#abandonedMs = abandonedMs;
  }

  /**
   * Waits for the archive, which is made unless an earlier request has started it.
   * @param signal  of the request
   * Errors  Refusal `queue_full`; those of `make`; the signal's reason, at once
   */
  async wait(work: ArchiveWork, signal: AbortSignal): Promise<Buffer> {
    signal.throwIfAborted();
    const making = this.#makings.get(work.key) ?? this.#add(work);
    making.requestCount += 1;
    clearTimeout(making.abandoned);
    try {
      return await untilAborted(making.archive, signal);
    } finally {
      making.requestCount -= 1;
      if (making.requestCount === 0 && this.#makings.get(work.key) === making) this.#abandon(making);
    }
  }

  /** Archives that wait or are in the making. */
  get count(): number {
    return this.#makings.size;
  }

  #add(work: ArchiveWork): Making {
    const ofOrganization = [...this.#makings.values()].filter(
      ({ organizationId }) => organizationId === work.organizationId,
    );
    if (ofOrganization.length > COLABFOLD_ARCHIVES_WAITING_MAX_COUNT) throw queueFull();
    const abort = new AbortController();
    let start: () => void = () => undefined;
    const turn = new Promise<void>((resolve) => {
      start = resolve;
    });
    const archive = untilAborted(turn, abort.signal)
      .then(() => work.make(abort.signal))
      .finally(() => {
        this.#makings.delete(work.key);
        this.#startNext();
      });
    // An abandoned archive fails without a request that waits for it.
    archive.catch(() => undefined);
    const making: Making = { ...work, abort, start, archive, isAtWork: false, requestCount: 0 };
    this.#makings.set(work.key, making);
    this.#startNext();
    return making;
  }

  #startNext(): void {
    const makings = [...this.#makings.values()];
    const busy = new Set(makings.flatMap((each) => (each.isAtWork ? [each.organizationId] : [])));
    for (const making of makings) {
      if (busy.size >= COLABFOLD_ARCHIVES_AT_WORK_MAX_COUNT) return;
      if (busy.has(making.organizationId)) continue;
      busy.add(making.organizationId);
      making.isAtWork = true;
      making.start();
    }
  }

  #abandon(making: Making): void {
    const reason = new ArchiveAbandoned('No request waits for the archive.');
    making.abandoned = setTimeout(() => making.abort.abort(reason), this.#abandonedMs).unref();
  }
}

function queueFull(): Refusal {
  return new Refusal(
    'queue_full',
    `At most ${COLABFOLD_ARCHIVES_WAITING_MAX_COUNT} archives of an organization may wait.`,
    { retryAfterSeconds: 5 },
  );
}
