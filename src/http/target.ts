import { Refusal } from '../errors.js';

/** The target of a request line: a percent-encoded path, and decoded query parameters. */
export interface RequestTarget {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Names of repeated parameters. The first value counts. */
  readonly repeated: readonly string[];
}

/**
 * Reads the request target in origin form or absolute form, and `*`.
 * Errors  Refusal `malformed_path` for a percent-escape that is not UTF-8; `malformed_request` for another form
 */
export function readTarget(url: string): RequestTarget {
  const origin = /^https?:\/\/[^/?#]*/i.exec(url)?.[0] ?? '';
  const target = url.slice(origin.length) || '/';
  if (target !== '*' && !target.startsWith('/') && !target.startsWith('?')) {
    throw new Refusal('malformed_request', 'The request target must be a path that begins with "/".');
  }
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  decode(path);
  return { path: path || '/', ...readQuery(mark === -1 ? '' : target.slice(mark + 1)) };
}

/** The request target below the path of the public address. A proxy may forward that path or strip it. */
export function withoutBase(target: string, basePath: string): string {
  if (basePath === '' || !target.startsWith(basePath)) return target;
  const rest = target.slice(basePath.length);
  if (rest === '') return '/';
  return /^[/?]/.test(rest) ? rest : target;
}

/** A path parameter or query text, decoded. Errors  Refusal `malformed_path` */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Refusal('malformed_path', 'The request target has a percent-escape that is not UTF-8.');
  }
}

function readQuery(text: string): Pick<RequestTarget, 'query' | 'repeated'> {
  const query = new Map<string, string>();
  const repeated = new Set<string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const [name = '', ...value] = pair.replaceAll('+', ' ').split('=');
    const decoded = decode(name);
    if (query.has(decoded)) repeated.add(decoded);
    else query.set(decoded, decode(value.join('=')));
  }
  // fromEntries defines own members. A parameter named __proto__ is therefore an ordinary member, and refused as
  // unknown.
  return { query: Object.fromEntries(query), repeated: [...repeated] };
}
