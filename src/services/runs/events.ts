import type { RunEvent } from '../../contract/runs/runs.js';
import { isFinal } from '../../contract/runs/run-states.js';
import { Counts } from '../../counts.js';
import { Refusal } from '../../errors.js';
import { RUN_STREAMS_MAX_COUNT, RUN_STREAMS_PER_ORGANIZATION_MAX_COUNT } from '../../limits.js';
import type { EventRow } from '../../store/tables/events.js';
import type { RunRow, RunTable } from '../../store/tables/runs.js';
import { presentProgress } from './present.js';
import type { RunWatch } from './watch.js';

/** Proxies close connections that are silent for long. */
const HEARTBEAT_MS = 15_000;

interface RunSources {
  readonly table: RunTable;
  readonly watch: RunWatch;
  readonly streams: EventStreams;
  readonly now: () => Date;
}

/** The open event streams, in total and by organization. */
export class EventStreams {
  #openCount = 0;
  readonly #openCounts = new Counts();

  /** Errors  Refusal `queue_full` if the organization, or all of them together, have too many streams open */
  requireRoom(organizationId: string): void {
    const isOwn = this.#openCounts.of(organizationId) >= RUN_STREAMS_PER_ORGANIZATION_MAX_COUNT;
    if (!isOwn && this.#openCount < RUN_STREAMS_MAX_COUNT) return;
    const quota = isOwn ? RUN_STREAMS_PER_ORGANIZATION_MAX_COUNT : RUN_STREAMS_MAX_COUNT;
    const whose = isOwn ? ' of the organization' : '';
    throw new Refusal('queue_full', `No more than ${quota} streams of events${whose} may be open.`, {
      retryAfterSeconds: 5,
      policy: { name: 'streams', quota, quota_unit: 'concurrent-requests' },
    });
  }

  /** Counts a stream until the returned function is called, once. */
  open(organizationId: string): () => void {
    this.#add(organizationId, 1);
    return () => this.#add(organizationId, -1);
  }

  #add(organizationId: string, change: number): void {
    this.#openCount += change;
    this.#openCounts.add(organizationId, change);
  }
}

/**
 * The events of a run as a stream of server-sent events: state changes after the given one, then new ones and progress
 * as they occur. The stream ends with the run, its reader or the server.
 * Errors  those of EventStreams.requireRoom
 * Source  HTML Living Standard, section 9.2
 */
export function streamEvents(
  run: RunRow,
  lastEventId: string | undefined,
  sources: RunSources,
  signal: AbortSignal,
): AsyncIterable<string> {
  sources.streams.requireRoom(run.organizationId);
  // An id in another format is none of this server and counts as no event.
  const lastSent = /^\d{1,9}$/.test(lastEventId ?? '') ? Number(lastEventId) : 0;
  return follow(run, lastSent, sources, signal);
}

async function* follow(
  { id: runId, organizationId }: Pick<RunRow, 'id' | 'organizationId'>,
  lastSent: number,
  { table, watch, streams, now }: RunSources,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const leave = streams.open(organizationId);
  const changes = watch.open(runId);
  let lastSequence = lastSent;
  let lastProgress = '';
  try {
    while (!signal.aborted) {
      // The state is read before the events. If it is final, its event is therefore among them.
      const run = table.get(runId);
      for (const event of table.events.after(runId, lastSequence)) {
        lastSequence = event.sequence;
        yield stateMessage(event);
      }
      if (run === undefined || isFinal(run.status)) return;
      const progress = progressMessage(run, now());
      if (run.status === 'running' && progress.key !== lastProgress) yield progress.text;
      lastProgress = progress.key;
      const isChanged = await changes.next(HEARTBEAT_MS, signal);
      if (watch.isEnded) return;
      if (!isChanged) yield ': still there\n\n';
    }
  } finally {
    changes.close();
    leave();
  }
}

function stateMessage({ sequence, type, timestamp, data }: EventRow): string {
  const event = { type, timestamp, data };
  return `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Has no id, so that a reconnecting reader requests the state changes that it has missed. */
function progressMessage(run: RunRow, at: Date): { readonly key: string; readonly text: string } {
  const progress = presentProgress(run);
  const event: RunEvent = {
    type: 'run.progress',
    timestamp: at.toISOString(),
    data: {
      run_id: run.id,
      endpoint: run.endpoint as RunEvent['data']['endpoint'],
      status: run.status,
      progress,
    },
  };
  return {
    key: JSON.stringify(progress),
    text: `event: run.progress\ndata: ${JSON.stringify(event)}\n\n`,
  };
}
