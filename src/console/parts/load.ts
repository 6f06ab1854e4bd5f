import { useEffect, useState } from 'preact/hooks';

export type Loaded<Value> =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: Error }
  | { readonly state: 'ready'; readonly value: Value };

/** What `load` gives, anew whenever one of `keys` changes; an answer that nobody waits for any more is dropped. */
export function useLoaded<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  keys: readonly unknown[],
): Loaded<Value> {
  const [loaded, setLoaded] = useState<Loaded<Value>>({ state: 'loading' });
  useEffect(() => {
    const gone = new AbortController();
    setLoaded({ state: 'loading' });
    load(gone.signal).then(
      (value) => gone.signal.aborted || setLoaded({ state: 'ready', value }),
      (error: unknown) => gone.signal.aborted || setLoaded({ state: 'failed', error: error as Error }),
    );
    return () => gone.abort();
  }, keys);
  return loaded;
}

/** What `load` gives, again and again while the page is looked at; undefined until it has given something. */
export function usePolled<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  everyMs: number,
): Value | undefined {
  const [value, setValue] = useState<Value>();
  useEffect(() => {
    const gone = new AbortController();
    const look = (): void => {
      // What is not answered now is asked again soon: the page goes on showing what it knows.
      if (!document.hidden) load(gone.signal).then(setValue, () => undefined);
    };
    look();
    const timer = setInterval(look, everyMs);
    return () => {
      clearInterval(timer);
      gone.abort();
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
