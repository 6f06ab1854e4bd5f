import { useEffect, useState } from 'preact/hooks';
import type { Run } from '../../clients/typescript/types/runs.js';
import { gloaming } from '../server/server.js';
import { isOver } from './run-state.js';

/** Rows that arrive within this time are drawn together. */
const SLICE_MS = 250;

interface StreamedRows<Row> {
  readonly rows: readonly Row[];
  /** True if the run has more rows than the page holds. */
  readonly isFull: boolean;
  readonly error?: Error;
}

/**
 * Collects rows of a run from the stream and publishes them in slices, so that ten thousand rows redraw the page only a
 * few times.
 * @param weightOf  size of a row; rows are collected until their sum exceeds `most`
 */
export function useStreamedRows<Row>(
  run: Run,
  weightOf: (row: Row) => number,
  most: number,
): StreamedRows<Row> {
  const [state, setState] = useState<StreamedRows<Row>>({ rows: [], isFull: false });
  useEffect(() => {
    const closing = new AbortController();
    const rows: Row[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const showProgress = (): void => {
      timer = undefined;
      setState({ rows: [...rows], isFull: false });
    };
    const read = async (): Promise<void> => {
      let weight = 0;
      for await (const each of gloaming.results(run.id, { signal: closing.signal })) {
        const row = each as Row;
        rows.push(row);
        weight += weightOf(row);
        if (weight > most) break;
        timer ??= setTimeout(showProgress, rows.length === 1 ? 0 : SLICE_MS);
      }
      clearTimeout(timer);
      setState({ rows, isFull: weight > most });
    };
    // Rows lost with the connection are read again when the status of the run changes.
    read().catch((error: Error) => {
      if (!closing.signal.aborted && !(error instanceof TypeError))
        setState((before) => ({ ...before, error }));
    });
    return () => {
      clearTimeout(timer);
      closing.abort();
    };
  }, [run.id, isOver(run)]);
  return state;
}
