import { realWorld, type World } from '../../world.js';

/** Notifies waiters in this process of changes of a run. */
export class RunWatch {
  readonly #watchers = new Map<string, Set<RunChanges>>();
  readonly #onNotify: () => void;
  readonly #world: World;
  #isEnded = false;

  /** @param onNotify  called after every durable change of any run */
  constructor(onNotify: () => void = () => undefined, world = realWorld) {
    this.#onNotify = onNotify;
    this.#world = world;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  notify(runId: string): void {
    for (const watcher of this.#watchers.get(runId) ?? []) watcher.notify();
    this.#onNotify();
  }

  /** Changes from now on. The caller closes the result. */
  open(runId: string): RunChanges {
    const changes = new RunChanges(this, () => this.#close(runId, changes), this.#world);
    const watchers = this.#watchers.get(runId) ?? new Set();
    this.#watchers.set(runId, watchers.add(changes));
    return changes;
  }

  /** Ends every wait, because the server stops. */
  end(): void {
    this.#isEnded = true;
    for (const watchers of this.#watchers.values()) {
      for (const watcher of watchers) watcher.notify();
    }
  }

  #close(runId: string, changes: RunChanges): void {
    const watchers = this.#watchers.get(runId);
    if (watchers === undefined || !watchers.delete(changes)) return;
    if (watchers.size === 0) this.#watchers.delete(runId);
  }
}

/** The changes of one run for one waiter, made by RunWatch.open. */
class RunChanges {
  readonly #watch: Pick<RunWatch, 'isEnded'>;
  readonly #onClose: () => void;
  readonly #world: World;
  #hasChanged = false;
  #wake: (() => void) | undefined;

  constructor(watch: Pick<RunWatch, 'isEnded'>, onClose: () => void, world: World) {
    this.#watch = watch;
    this.#onClose = onClose;
    this.#world = world;
  }

  notify(): void {
    this.#hasChanged = true;
    this.#wake?.();
  }

  /** Waits for a change since the last call; false where the time passed, the signal aborted or the watch ended. */
  async next(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#hasChanged && !signal.aborted && !this.#watch.isEnded) await this.#wait(timeoutMs, signal);
    const hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    return hasChanged && !this.#watch.isEnded;
  }

  close(): void {
    this.#onClose();
  }

  #wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        signal.removeEventListener('abort', end);
        this.#wake = undefined;
        resolve();
      };
      const cancel = this.#world.setTimer(timeoutMs, end);
      signal.addEventListener('abort', end, { once: true });
      this.#wake = end;
    });
  }
}
