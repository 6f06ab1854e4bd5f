import { useEffect, useState } from 'preact/hooks';
import type { Run } from '../../clients/typescript/types/runs.js';
import { gloaming } from '../server/server.js';

export const ENDPOINTS: Readonly<Record<string, string>> = {
  'homology.search': 'Search',
  'homology.batch_search': 'Batch search',
  'homology.export': 'Export',
  'sequences.msa.build': 'Alignment',
  'sequences.relatives': 'Relatives',
  'structure.predict': 'Structure',
};

/** What the rows of a result are. */
export const ROW_NOUNS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  'homology.search': ['hit', 'hits'],
  'homology.batch_search': ['query', 'queries'],
};

export function isOver({ status }: Pick<Run, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

export interface LiveRun {
  readonly run?: Run;
  readonly error?: Error;
  /** The server does not answer at the moment; the stream is asked for again. */
  readonly isWaiting: boolean;
  readonly setRun: (run: Run) => void;
}

const AGAIN_MS = 1000;

/** A run as it is now, by its stream of events: over restarts of the server, until it has ended. */
export function useLiveRun(runId: string): LiveRun {
  const [run, setRun] = useState<Run>();
  const [error, setError] = useState<Error>();
  const [isWaiting, setWaiting] = useState(false);
  useEffect(() => {
    const gone = new AbortController();
    const { signal } = gone;
    const follow = async (): Promise<void> => {
      const first = await gloaming.run(runId, { signal });
      setRun(first);
      setWaiting(false);
      if (isOver(first)) return;
      for await (const { data } of gloaming.watch(runId, { signal })) {
        setRun(
          (known) => known && { ...known, status: data.status, progress: data.progress ?? known.progress },
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
    return () => gone.abort();
  }, [runId]);
  return { ...(run && { run }), ...(error && { error }), isWaiting, setRun };
}

/** No connection, or a server that is stopping. */
function isOfTheMoment(failure: Error): boolean {
  return failure instanceof TypeError || ('isRetryable' in failure && failure.isRetryable === true);
}
