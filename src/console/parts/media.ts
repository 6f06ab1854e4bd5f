import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

/** Returns whether a media query matches, and follows its changes. */
export function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const listen = (): void => setHolds(list.matches);
    listen();
    list.addEventListener('change', listen);
    return () => list.removeEventListener('change', listen);
  }, [query]);
  return holds;
}

/** Returns the width of an element and follows its changes; 0 before the element exists. Unit  pixels */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const node = element.current;
    if (node === null) return undefined;
    const look = (): void => setWidth(node.clientWidth);
    look();
    const watcher = new ResizeObserver(look);
    watcher.observe(node);
    return () => watcher.disconnect();
  }, []);
  return width;
}

/** Matches a phone, or a window of the width of a phone. */
export const NARROW = '(max-width: 46rem)';
