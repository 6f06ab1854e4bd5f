import { useEffect, useState } from 'preact/hooks';

/** Where in the console one is: `#/result/rcpt_…?row=3`. What stands behind the # is never sent to the server. */
export interface Route {
  /** First part of the path. */
  readonly view: string;
  /** The parts after it, decoded. */
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

function readRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [view = '', ...rest] = path.split('/').map(decoded);
  return { view: view === '' ? 'search' : view, rest, query: new URLSearchParams(search) };
}

/** A percent-escape that is no UTF-8 is taken as it stands. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** `#/view/part?name=value`; members without value are left out. */
export function hrefTo(
  parts: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const search = new URLSearchParams(pairs).toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`;
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const listen = (): void => setHash(location.hash);
    addEventListener('hashchange', listen);
    return () => removeEventListener('hashchange', listen);
  }, []);
  return readRoute(hash);
}

export function goTo(href: string): void {
  location.hash = href;
}

/** Notes in the address what a reload should show again, without a step in the history. */
export function noteInAddress(href: string): void {
  history.replaceState(history.state, '', href);
}
