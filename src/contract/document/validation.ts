import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { Type, type TObject, type TSchema } from '@sinclair/typebox';
import { FailureEnvelope } from '../grammar/envelope.js';
import { HomologyFailure, Problem } from '../grammar/failures.js';
import type { RefusalLocation } from '../../places.js';
import { namedSchemas, withReferences } from './references.js';
import type { Route } from '../grammar/route.js';
import { headerSchemas } from './routes.js';
import { locate } from '../grammar/locations.js';

/** Parts of a request, named as locations name them. */
export type RequestPart = 'path' | 'query' | 'header' | 'body';

export interface RouteValidator {
  /** Every place of this part that is wrong; fills in defaults and reads numbers of parameters in place. */
  check(part: RequestPart, value: unknown): readonly RefusalLocation[];
  /** Whether a body is what the contract promises; used by tests and by the response check. */
  checkSuccess(body: unknown): readonly RefusalLocation[];
}

/** Compiles the schemas of these routes once; success schemas at their first use. */
export function createValidators(routes: readonly Route[]): ReadonlyMap<Route, RouteValidator> {
  const ajv = newAjv(routes.flatMap((route) => [route.success.schema, ...(route.body ? [route.body] : [])]));
  return new Map(routes.map((route) => [route, routeValidator(ajv, route)]));
}

/** Checks failure bodies by the name of their schema: `Problem`, `FailureEnvelope`, `HomologyFailure`. */
export function createFailureCheck(): (schema: TSchema, body: unknown) => readonly RefusalLocation[] {
  const ajv = newAjv([FailureEnvelope, HomologyFailure, Problem]);
  return (schema, body) => run(ajv.compile({ $ref: schema.$id }), 'body', body);
}

function newAjv(roots: readonly TSchema[]): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    useDefaults: true,
    discriminator: true,
    strict: true,
    // The alternatives of a union carry the type, and an exclusion names members of the schema around it.
    strictTypes: false,
    strictRequired: false,
  });
  ajv.addVocabulary(['chosen', 'publishedPattern']);
  formats.default(ajv, ['date-time', 'uri']);
  for (const [name, schema] of namedSchemas(roots, (inner) => inner)) ajv.addSchema(schema, name);
  return ajv;
}

function routeValidator(ajv: Ajv2020, route: Route): RouteValidator {
  const headers = Object.entries(headerSchemas(route)).map(([name, schema]) => [name, Type.Optional(schema)]);
  const parts: Readonly<Record<RequestPart, ValidateFunction | undefined>> = {
    path: compile(ajv, route.params),
    query: compile(ajv, route.query ?? Type.Object({}, { additionalProperties: false })),
    header: compile(ajv, Type.Object(Object.fromEntries(headers) as Record<string, TSchema>)),
    body: compile(ajv, route.body),
  };
  let success: ValidateFunction | undefined;
  return {
    check(part, value) {
      const validate = parts[part];
      if (validate === undefined) return [];
      if (part === 'query' && route.query !== undefined)
        readNumbers(route.query, value as Record<string, unknown>);
      return run(validate, part, value);
    },
    checkSuccess(body) {
      success ??= compile(ajv, route.success.schema);
      return run(success as ValidateFunction, 'body', body);
    },
  };
}

function compile(ajv: Ajv2020, schema: TSchema | undefined): ValidateFunction | undefined {
  if (schema === undefined) return undefined;
  const reference = (name: string): string => name;
  return ajv.compile(
    typeof schema.$id === 'string' ? { $ref: schema.$id } : withReferences(schema, reference),
  );
}

/** Parameters arrive as text; plain decimal integers are read where the schema wants them. */
function readNumbers(schema: TObject, values: Record<string, unknown>): void {
  for (const [name, inner] of Object.entries(schema.properties)) {
    const value = values[name];
    if (inner.type === 'integer' && typeof value === 'string' && /^-?\d{1,15}$/.test(value)) {
      values[name] = Number(value);
    }
  }
}

function run(validate: ValidateFunction, part: RequestPart, value: unknown): readonly RefusalLocation[] {
  if (validate(value)) return [];
  return (validate.errors as ErrorObject[]).flatMap((error) => locate(part, error));
}
