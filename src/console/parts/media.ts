import { useEffect, useState } from 'preact/hooks';

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

/** A phone, or a window as narrow. */
export const NARROW = '(max-width: 46rem)';
