import { newId } from '../../ids.js';
import type { ControlStore } from '../control-store.js';

/** Something that happened to one subject (a run, a file, a release). */
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
  /** A webhook endpoint that is told, whatever events it takes otherwise. */
  readonly toldEndpointId?: string;
}

/** The table `events`. An event is written in the transaction of the change that it tells of, or not at all. */
export interface EventTable {
  /** Only inside a transaction, beside the change. */
  append(event: Omit<EventRow, 'id' | 'sequence'>): EventRow;
  /** Events of a subject after this sequence number, in order. */
  after(subjectId: string, sequence: number): readonly EventRow[];
  /** Forgets a subject's events. Only inside a transaction. */
  drop(subjectId: string): void;
}

/** @param onAppend takes part in the transaction: what follows from an event is written beside it */
export function eventTable(
  store: ControlStore,
  onAppend: (event: EventRow) => void = () => undefined,
): EventTable {
  const rows = store.table<EventRow>('events');
  const of = (subjectId: string, sequence: number) => ({
    start: keyOf(subjectId, sequence),
    end: keyOf(subjectId, LAST_SEQUENCE),
  });
  return {
    append(event) {
      const [last] = rows.getKeys({
        start: keyOf(event.subjectId, LAST_SEQUENCE),
        end: keyOf(event.subjectId, 0),
        reverse: true,
        limit: 1,
      });
      const sequence = last === undefined ? 1 : Number(last.slice(event.subjectId.length + 1)) + 1;
      const row: EventRow = { ...event, id: newId('evt'), sequence };
      rows.putSync(keyOf(row.subjectId, sequence), row);
      onAppend(row);
      return row;
    },
    after: (subjectId, sequence) => [...rows.getRange(of(subjectId, sequence + 1)).map(({ value }) => value)],
    drop(subjectId) {
      for (const key of [...rows.getKeys(of(subjectId, 0))]) rows.removeSync(key);
    },
  };
}

/** Runs have three events, files a few; nine digits are no bound in practice. */
const LAST_SEQUENCE = 999_999_999;

function keyOf(subjectId: string, sequence: number): string {
  return `${subjectId} ${String(sequence).padStart(9, '0')}`;
}
