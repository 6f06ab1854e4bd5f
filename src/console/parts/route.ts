import { useEffect, useState } from 'preact/hooks';

/** Location within the console: `#/result/rcpt_…?row=3`. Browsers do not send the text after # to a server. */
export interface Route {
  /** First part of the path. */
  readonly view: string;
  /** The other parts of the path, decoded. */
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

function readRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [view = '', ...rest] = path.split('/').map(decoded);
  return { view: view === '' ? 'search' : view, rest, query: new URLSearchParams(search) };
}

/** Decodes a part. Returns it unchanged if its percent-escapes are not UTF-8. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns `#/view/part?name=value`. Members without a value are left out. */
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
    // The address may have changed since the first render, before anything listened.
    listen();
    return () => removeEventListener('hashchange', listen);
  }, []);
  return readRoute(hash);
}

export function goTo(href: string): void {
  location.hash = href;
}

/** Replaces the address without a new history entry, so that a reload shows the same state. */
export function noteInAddress(href: string): void {
  history.replaceState(history.state, '', href);
}
