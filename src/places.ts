/** Where in a request: its part, then members and positions on the way: `['body', 'filter', 'filters', 2, 'op']`. */
export type Place = readonly (string | number)[];

export interface RefusalLocation {
  /** Where in the request, for people: `body.filter.filters[2].op`. */
  readonly location: string;
  /** The same step by step, as `faultAt` makes it; absent where it is no request that is wrong. */
  readonly place?: Place;
  readonly message: string;
  /** What stands there, shortened; null for nothing. */
  readonly value?: unknown;
  /** What it breaks, by keyword: `{ minimum: 1 }`. */
  readonly bounds?: Readonly<Record<string, unknown>>;
}

/** Longest stretch of the caller's own input that a failure quotes. */
const QUOTED_MAX_CHARACTERS = 128;
const PLAIN_MEMBER = /^[\w$-]{1,64}$/;

/** As a path for people: `body.filter.filters[2].op`; a name that is no plain one stands in brackets and quotes. */
export function placeText([part = '', ...rest]: Place): string {
  return part + rest.map(stepText).join('');
}

/** One place that is wrong. @param bounds what it breaks, by keyword; @param value what stands there */
export function faultAt(
  place: Place,
  message: string,
  { value, bounds }: { readonly value?: unknown; readonly bounds?: Readonly<Record<string, unknown>> } = {},
): RefusalLocation {
  return { location: placeText(place), place, message, value: quote(value), ...(bounds && { bounds }) };
}

/** The caller's value, shortened: a failure must not grow with what it refuses. */
function quote(value: unknown): unknown {
  if (value === undefined) return null;
  if (typeof value === 'string') {
    return value.length <= QUOTED_MAX_CHARACTERS ? value : `${value.slice(0, QUOTED_MAX_CHARACTERS)}…`;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value)
    ? `an array of ${value.length}`
    : `an object of ${Object.keys(value).length} members`;
}

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`;
  return PLAIN_MEMBER.test(step) ? `.${step}` : `[${JSON.stringify(quote(step))}]`;
}
