import { useEffect, useState } from 'preact/hooks';

export type Loaded<Value> =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: Error }
  | { readonly state: 'ready'; readonly value: Value };

/**
 * Returns the state of `load`, which runs again when one of `keys` changes. The result of a superseded call is dropped,
 * and the first rendering with new keys is already that of a load.
 */
export function useLoaded<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  keys: readonly unknown[],
): Loaded<Value> {
  const [settled, setSettled] = useState<Settled<Value>>();
  useEffect(() => {
    const closing = new AbortController();
    const settle = (loaded: Loaded<Value>): void => {
      if (!closing.signal.aborted) setSettled({ keys, loaded });
    };
    load(closing.signal).then(
      (value) => settle({ state: 'ready', value }),
      (error: unknown) => settle({ state: 'failed', error: error as Error }),
    );
    return () => closing.abort();
  }, keys);
  const isOfKeys = settled?.keys.every((key, at) => Object.is(key, keys[at])) === true;
  return isOfKeys ? settled.loaded : { state: 'loading' };
}

/** The end of a load, and the keys that it was for. */
interface Settled<Value> {
  readonly keys: readonly unknown[];
  readonly loaded: Loaded<Value>;
}

/** Calls `load` at an interval while the page is visible. Returns its latest value; undefined before the first. */
export function usePolled<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  everyMs: number,
): Value | undefined {
  const [value, setValue] = useState<Value>();
  useEffect(() => {
    const closing = new AbortController();
    const look = (): void => {
      // A failed call is ignored: the page keeps the last value, and the next call follows soon.
      if (!document.hidden) load(closing.signal).then(setValue, () => undefined);
    };
    look();
    const timer = setInterval(look, everyMs);
    return () => {
      clearInterval(timer);
      closing.abort();
    };
  }, []);
  return value;
}

export async function allOf<Item>(items: AsyncIterable<Item>, maxCount = Infinity): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) {
    list.push(item);
    if (list.length >= maxCount) break;
  }
  return list;
}
