import type { World } from '../../world.js';
import type { ControlStore, Table } from '../control-store.js';

/** A change of one subject (a run, a file, a release). */
export interface EventRow {
  /** `evt_…`. */
  readonly id: string;
  /** Counts the events of its subject from 1, without gaps. */
  readonly sequence: number;
  /** `run.completed`, `file.deleted` … */
  readonly type: string;
  readonly organizationId: string;
  readonly subjectId: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** A webhook endpoint that gets this event regardless of its subscriptions. */
  readonly toldEndpointId?: string;
}

/** The table `events`. An event is written in the transaction of the change that it describes, or not at all. */
export class EventTable {
  readonly #world: World;
  readonly #rows: Table<EventRow>;
  readonly #onAppend: (...events: readonly EventRow[]) => void;

  /** @param onAppend runs in the transaction and writes what follows from the events */
  constructor(store: ControlStore, onAppend: (...events: readonly EventRow[]) => void = () => undefined) {
    this.#world = store.world;
    this.#rows = store.table<EventRow>('events');
    this.#onAppend = onAppend;
  }

  /** Appends events in order, and then announces them together. Only inside a transaction, with the changes. */
  append(...events: readonly Omit<EventRow, 'id' | 'sequence'>[]): void {
    const rows = events.map((event): EventRow => {
      const sequence = this.#lastSequence(event.subjectId) + 1;
      const row = { ...event, id: this.#world.newId('evt'), sequence };
      this.#rows.putSync(keyOf(row.subjectId, sequence), row);
      return row;
    });
    this.#onAppend(...rows);
  }

  /** Events of a subject after this sequence number, in order. */
  after(subjectId: string, sequence: number): readonly EventRow[] {
    return [...this.#rows.getRange(rangeOf(subjectId, sequence + 1)).map(({ value }) => value)];
  }

  /** Deletes a subject's events. Only inside a transaction. */
  drop(subjectId: string): void {
    for (const key of [...this.#rows.getKeys(rangeOf(subjectId, 0))]) this.#rows.removeSync(key);
  }

  #lastSequence(subjectId: string): number {
    const { start, end } = rangeOf(subjectId, 0);
    const [last] = this.#rows.getKeys({ start: end, end: start, reverse: true, limit: 1 });
    return last === undefined ? 0 : Number(last.slice(subjectId.length + 1));
  }
}

function rangeOf(subjectId: string, sequence: number): { readonly start: string; readonly end: string } {
  return { start: keyOf(subjectId, sequence), end: keyOf(subjectId, LAST_SEQUENCE) };
}

/** Upper bound of sequence numbers: runs have three events, files a few. */
const LAST_SEQUENCE = 999_999_999;

function keyOf(subjectId: string, sequence: number): string {
  return `${subjectId} ${String(sequence).padStart(9, '0')}`;
}
