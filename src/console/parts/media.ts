import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

/** Whether a media query holds, now and later. */
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

/** How wide an element is, now and later; 0 before it is there. Unit  pixels */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const seen = element.current;
    if (seen === null) return undefined;
    const look = (): void => setWidth(seen.clientWidth);
    look();
    const watcher = new ResizeObserver(look);
    watcher.observe(seen);
    return () => watcher.disconnect();
  }, []);
  return width;
}

/** A phone, or a window as narrow. */
export const NARROW = '(max-width: 46rem)';
