import { useEffect, useState } from 'preact/hooks';
import type { Run } from '../../clients/typescript/types/runs.js';
import { gloaming } from '../server/server.js';

export const ENDPOINTS: Readonly<Record<string, string>> = {
  'homology.search': 'Search',
  'homology.batch_search': 'Batch search',
  'homology.annotate': 'Domains',
  'homology.export': 'Export',
  'sequences.msa.build': 'Alignment',
  'sequences.relatives': 'Relatives',
  'structure.predict': 'Structure',
};

/** Noun for the rows of a result, by endpoint. */
export const ROW_NOUNS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  'homology.search': ['hit', 'hits'],
  'homology.batch_search': ['query', 'queries'],
  'homology.annotate': ['protein', 'proteins'],
};

export function isOver({ status }: Pick<Run, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

export interface LiveRun {
  readonly run?: Run;
  readonly error?: Error;
  /** True while the server does not answer and the stream is retried. */
  readonly isWaiting: boolean;
  readonly setRun: (run: Run) => void;
}

const AGAIN_MS = 1000;

/** Follows a run through its event stream until the run ends. The hook reconnects after a restart of the server. */
export function useLiveRun(runId: string): LiveRun {
  const [run, setRun] = useState<Run>();
  const [error, setError] = useState<Error>();
  const [isWaiting, setWaiting] = useState(false);
  useEffect(() => {
    const closing = new AbortController();
    const { signal } = closing;
    const follow = async (): Promise<void> => {
      const first = await gloaming.run(runId, { signal });
      setRun(first);
      setWaiting(false);
      if (isOver(first)) return;
      for await (const { data } of gloaming.watch(runId, { signal })) {
        setRun(
          (before) =>
            before && { ...before, status: data.status, progress: data.progress ?? before.progress },
        );
      }
      setRun(await gloaming.run(runId, { signal }));
    };
    const followOn = async (): Promise<void> => {
      while (!signal.aborted) {
        try {
          return await follow();
        } catch (failure) {
          if (signal.aborted) return;
          if (!isOfTheMoment(failure as Error)) return setError(failure as Error);
          setWaiting(true);
          await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        }
      }
    };
    void followOn();
    return () => closing.abort();
  }, [runId]);
  return { ...(run && { run }), ...(error && { error }), isWaiting, setRun };
}

/** Returns whether a failure is transient: no connection, or a server that is stopping. */
function isOfTheMoment(failure: Error): boolean {
  return failure instanceof TypeError || ('isRetryable' in failure && failure.isRetryable === true);
}
