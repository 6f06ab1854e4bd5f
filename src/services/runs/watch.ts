/** Tells whoever waits in this process that something about a run has changed. */
export interface RunWatch {
  notify(runId: string): void;
  /** Changes from now on; the caller closes it. */
  open(runId: string): RunChanges;
  /** Ends every wait: the server stops. */
  end(): void;
  readonly openCount: number;
  readonly isEnded: boolean;
}

export interface RunChanges {
  /** Waits for a change since the last call; false where the time passed, the signal aborted or the watch ended. */
  next(timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  close(): void;
}

interface Watcher {
  hasChanged: boolean;
  wake?: () => void;
}

/** @param onNotify told of every change of any run, once it is on disk */
export function createRunWatch(onNotify: () => void = () => undefined): RunWatch {
  const watchers = new Map<string, Set<Watcher>>();
  let openCount = 0;
  let isEnded = false;
  const wakeAll = (set: ReadonlySet<Watcher> | undefined): void => {
    for (const watcher of set ?? []) {
      watcher.hasChanged = true;
      watcher.wake?.();
    }
  };
  return {
    notify(runId) {
      wakeAll(watchers.get(runId));
      onNotify();
    },
    open(runId) {
      const watcher: Watcher = { hasChanged: false };
      const set = watchers.get(runId) ?? new Set();
      watchers.set(runId, set.add(watcher));
      openCount += 1;
      return {
        async next(timeoutMs, signal) {
          if (!watcher.hasChanged && !signal.aborted && !isEnded) await wait(watcher, timeoutMs, signal);
          const { hasChanged } = watcher;
          watcher.hasChanged = false;
          return hasChanged && !isEnded;
        },
        close() {
          if (!set.delete(watcher)) return;
          openCount -= 1;
          if (set.size === 0 && watchers.get(runId) === set) watchers.delete(runId);
        },
      };
    },
    end() {
      isEnded = true;
      for (const set of watchers.values()) wakeAll(set);
    },
    get openCount() {
      return openCount;
    },
    get isEnded() {
      return isEnded;
    },
  };
}

function wait(watcher: Watcher, timeoutMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      watcher.wake = undefined;
      resolve();
    };
    const timer = setTimeout(end, timeoutMs);
    signal.addEventListener('abort', end, { once: true });
    watcher.wake = end;
  });
}
