import type { ErrorObject } from 'ajv/dist/2020.js';
import type { RefusalLocation } from '../../errors.js';

/** Longest stretch of the caller's own input that a failure quotes. */
const QUOTED_MAX_CHARACTERS = 128;

/** The places that one failed keyword speaks of, in words for the caller. */
export function locate(part: string, error: ErrorObject): readonly RefusalLocation[] {
  const place = part + pathOf(error.instancePath);
  const params = error.params as Readonly<Record<string, unknown>>;
  switch (error.keyword) {
    case 'required':
      return [
        {
          location: `${place}${memberOf(String(params.missingProperty))}`,
          message: 'is required',
          value: null,
        },
      ];
    case 'additionalProperties': {
      const name = String(params.additionalProperty);
      const value = (error.data as Readonly<Record<string, unknown>>)[name];
      return [{ location: place + memberOf(name), message: 'is not known here', value: quote(value) }];
    }
    case 'not':
      return exclusive(place, error);
    case 'discriminator': {
      const tag = String(params.tag);
      const message = `must be one of ${tagsOf(error).join(', ')}`;
      return [{ location: `${place}.${tag}`, message, value: quote(params.tagValue) }];
    }
    case 'enum':
      return [
        {
          location: place,
          message: `must be one of ${(params.allowedValues as unknown[]).join(', ')}`,
          value: quote(error.data),
        },
      ];
    case 'const':
      return [
        {
          location: place,
          message: `must be ${JSON.stringify(params.allowedValue)}`,
          value: quote(error.data),
        },
      ];
    default:
      return [{ location: place, message: error.message ?? 'is not valid', value: quote(error.data) }];
  }
}

/** `not: { required: [a, b] }` says that a and b exclude each other: both places are at fault. */
function exclusive(place: string, error: ErrorObject): readonly RefusalLocation[] {
  const names = (error.schema as { readonly required?: readonly string[] }).required ?? [];
  const data = error.data as Readonly<Record<string, unknown>>;
  return names.map((name) => ({
    location: place + memberOf(name),
    message: `excludes ${names.filter((other) => other !== name).join(', ')}: send one of them`,
    value: quote(data[name]),
  }));
}

function tagsOf(error: ErrorObject): readonly string[] {
  const alternatives = (error.parentSchema?.oneOf ?? []) as readonly { readonly $ref: string }[];
  return alternatives.map(({ $ref }) => $ref.slice($ref.indexOf('.') + 1));
}

/** `/filter/filters/2/op` as `.filter.filters[2].op`. */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => memberOf(part.replaceAll('~1', '/').replaceAll('~0', '~')))
    .join('');
}

function memberOf(name: string): string {
  if (/^\d+$/.test(name)) return `[${name}]`;
  return /^[\w$-]{1,64}$/.test(name) ? `.${name}` : `[${JSON.stringify(String(quote(name)))}]`;
}

/** The caller's value, shortened: a failure must not grow with what it refuses. */
export function quote(value: unknown): unknown {
  if (value === undefined) return null;
  if (typeof value === 'string') {
    return value.length <= QUOTED_MAX_CHARACTERS ? value : `${value.slice(0, QUOTED_MAX_CHARACTERS)}…`;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value)
    ? `an array of ${value.length}`
    : `an object of ${Object.keys(value).length} members`;
}
