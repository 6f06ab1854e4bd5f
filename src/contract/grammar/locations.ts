import type { ErrorObject } from 'ajv/dist/2020.js';
import { faultAt, type Place, type RefusalLocation } from '../../places.js';

/** Returns the invalid places of one failed keyword, with a message for the caller and the violated bounds. */
export function locate(part: string, error: ErrorObject): readonly RefusalLocation[] {
  const place = [part, ...stepsOf(error.instancePath)];
  const value = error.data;
  const params = error.params as Readonly<Record<string, unknown>>;
  switch (error.keyword) {
    case 'required':
      return [faultAt([...place, stepOf(String(params.missingProperty))], 'is required')];
    case 'additionalProperties': {
      const name = String(params.additionalProperty);
      const surplus = (value as Readonly<Record<string, unknown>>)[name];
      return [faultAt([...place, stepOf(name)], 'is not known here', { value: surplus })];
    }
    case 'not':
      return exclusive(place, error);
    case 'discriminator': {
      const tags = tagsOf(error);
      const broken = { value: params.tagValue, bounds: { enum: tags } };
      return [faultAt([...place, String(params.tag)], `must be one of ${tags.join(', ')}`, broken)];
    }
    case 'enum': {
      const allowed = params.allowedValues as readonly unknown[];
      return [faultAt(place, `must be one of ${allowed.join(', ')}`, { value, bounds: { enum: allowed } })];
    }
    case 'const': {
      const message = `must be ${JSON.stringify(params.allowedValue)}`;
      return [faultAt(place, message, { value, bounds: { const: params.allowedValue } })];
    }
    default:
      return [faultAt(place, error.message ?? 'is not valid', { value, bounds: boundsOf(error) })];
  }
}

/** Returns the violated bound. A nested schema is left out, because it would not help the caller. */
function boundsOf({ keyword, schema }: ErrorObject): Readonly<Record<string, unknown>> | undefined {
  if (keyword === 'longText') return { maxLength: schema as unknown };
  const isPlain = typeof schema !== 'object' || (Array.isArray(schema) && schema.every(isText));
  return isPlain ? { [keyword]: schema as unknown } : undefined;
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

/** `not: { required: [a, b] }` states that a and b exclude each other. Both places are invalid. */
function exclusive(place: Place, error: ErrorObject): readonly RefusalLocation[] {
  const names = (error.schema as { readonly required?: readonly string[] }).required ?? [];
  const data = error.data as Readonly<Record<string, unknown>>;
  return names.map((name) => {
    const others = names.filter((other) => other !== name);
    return faultAt([...place, name], `excludes ${others.join(', ')}: send one of them`, {
      value: data[name],
      bounds: { excludes: others },
    });
  });
}

function tagsOf(error: ErrorObject): readonly string[] {
  const alternatives = (error.parentSchema?.oneOf ?? []) as readonly { readonly $ref: string }[];
  return alternatives.map(({ $ref }) => $ref.slice($ref.indexOf('.') + 1));
}

/** Returns the members and positions of a JSON pointer. Source  RFC 6901 */
function stepsOf(pointer: string): Place {
  const parts = pointer.split('/').slice(1);
  return parts.map((part) => stepOf(part.replaceAll('~1', '/').replaceAll('~0', '~')));
}

function stepOf(name: string): string | number {
  return /^(0|[1-9]\d{0,14})$/.test(name) ? Number(name) : name;
}
