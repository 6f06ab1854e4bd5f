/** Place in a request: its part, then members and indices: `['body', 'filter', 'filters', 2, 'op']`. */
export type Place = readonly (string | number)[];

export interface RefusalLocation {
  /** Place in the request, human-readable: `body.filter.filters[2].op`. */
  readonly location: string;
  /** Place as `faultAt` got it; absent if the invalid value is not in a request. */
  readonly place?: Place;
  readonly message: string;
  /** Value at the place, shortened; null for an absent value. */
  readonly value?: unknown;
  /** Violated bound, by keyword: `{ minimum: 1 }`. */
  readonly bounds?: Readonly<Record<string, unknown>>;
}

/** Longest part of the caller's input that a failure quotes. */
const QUOTED_MAX_CHARACTERS = 128;
const PLAIN_MEMBER = /^[\w$-]{1,64}$/;

/** Path of a place: `body.filter.filters[2].op`. A name that is no identifier is in brackets and quotes. */
export function placeText([part = '', ...rest]: Place): string {
  return part + rest.map(stepText).join('');
}

/** One invalid place. @param bounds violated bound, by keyword; @param value value at the place */
export function faultAt(
  place: Place,
  message: string,
  { value, bounds }: { readonly value?: unknown; readonly bounds?: Readonly<Record<string, unknown>> } = {},
): RefusalLocation {
  return { location: placeText(place), place, message, value: quote(value), ...(bounds && { bounds }) };
}

/** The caller's value, shortened, so that the size of a failure is bounded. */
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
