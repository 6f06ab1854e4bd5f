import { useEffect, useState } from 'preact/hooks';

export type Loaded<Value> =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: Error }
  | { readonly state: 'ready'; readonly value: Value };

/**
 * Returns the state of `load`, which runs again when one of `keys` changes. The result of a superseded call is dropped.
 */
export function useLoaded<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  keys: readonly unknown[],
): Loaded<Value> {
  const [loaded, setLoaded] = useState<Loaded<Value>>({ state: 'loading' });
  useEffect(() => {
    const closing = new AbortController();
    setLoaded({ state: 'loading' });
    load(closing.signal).then(
      (value) => closing.signal.aborted || setLoaded({ state: 'ready', value }),
      (error: unknown) => closing.signal.aborted || setLoaded({ state: 'failed', error: error as Error }),
    );
    return () => closing.abort();
  }, keys);
  return loaded;
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
