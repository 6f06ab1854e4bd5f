import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { Type, type TObject, type TSchema } from '@sinclair/typebox';
import { FailureEnvelope } from '../grammar/envelope.js';
import { HomologyFailure, Problem } from '../grammar/failures.js';
import { REFUSAL_MAX_LOCATIONS } from '../../limits.js';
import type { RefusalLocation } from '../../places.js';
import { namedSchemas, withReferences } from './references.js';
import type { Route } from '../grammar/route.js';
import { LongLists, withLongWords, type LongList } from './long-values.js';
import { headerSchemas } from './routes.js';
import { locate } from '../grammar/locations.js';
import { Slice } from '../../turns.js';

/** Parts of a request, with the names that error locations use. */
export type RequestPart = 'path' | 'query' | 'header' | 'body';

export interface RouteValidator {
  /**
   * Returns the errors in this part, and stops at the first one after REFUSAL_MAX_LOCATIONS. Fills in defaults and
   * converts numeric parameters in place.
   */
  check(part: RequestPart, value: unknown): readonly RefusalLocation[];
  /**
   * Like `check` for a body that may be large: yields to the event loop between the elements of long lists.
   * Errors  none
   */
  checkBodyInTurns(value: unknown): Promise<readonly RefusalLocation[]>;
  /** Returns the errors in a success body, as `check` does. Tests and the response check call it. */
  checkSuccess(body: unknown): readonly RefusalLocation[];
}

/** Compiles the schemas of these routes once, success schemas at their first use. */
export function createValidators(routes: readonly Route[]): ReadonlyMap<Route, RouteValidator> {
  const ajv = newAjv(routes.flatMap((route) => [route.success.schema, ...(route.body ? [route.body] : [])]));
  return new Map(routes.map((route) => [route, routeValidator(ajv, route)]));
}

/** Creates the check of failure bodies by the name of their schema: `Problem`, `FailureEnvelope`, `HomologyFailure`. */
export function createFailureCheck(): (schema: TSchema, body: unknown) => readonly RefusalLocation[] {
  const { ajv, longLists } = newAjv([FailureEnvelope, HomologyFailure, Problem]);
  return (schema, body) => atOnce(faultsOf(ajv.compile({ $ref: schema.$id }), longLists, 'body', body));
}

interface Compiler {
  readonly ajv: Ajv2020;
  readonly longLists: LongLists;
}

function newAjv(roots: readonly TSchema[]): Compiler {
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    useDefaults: true,
    discriminator: true,
    strict: true,
    // The alternatives of a union carry the type, and an exclusion names members of the enclosing schema.
    strictTypes: false,
    strictRequired: false,
  });
  ajv.addVocabulary(['chosen', 'publishedPattern']);
  const longLists = new LongLists(ajv);
  formats.default(ajv, ['date-time', 'uri']);
  for (const [name, schema] of namedSchemas(roots, (inner) => inner)) {
    ajv.addSchema(withLongWords(schema), name);
  }
  return { ajv, longLists };
}

function routeValidator({ ajv, longLists }: Compiler, route: Route): RouteValidator {
  const headers = Object.entries(headerSchemas(route)).map(([name, schema]) => [name, Type.Optional(schema)]);
  const parts: Readonly<Record<RequestPart, ValidateFunction | undefined>> = {
    path: compile(ajv, route.params),
    query: compile(ajv, route.query ?? Type.Object({}, { additionalProperties: false })),
    header: compile(ajv, Type.Object(Object.fromEntries(headers) as Record<string, TSchema>)),
    body: compile(ajv, route.body),
  };
  const faultsIn = (part: RequestPart, value: unknown): Faults =>
    faultsOf(parts[part], longLists, part, value);
  let success: ValidateFunction | undefined;
  return {
    check(part, value) {
      if (part === 'query' && route.query !== undefined)
        readNumbers(route.query, value as Record<string, unknown>);
      return atOnce(faultsIn(part, value));
    },
    checkBodyInTurns: (value) => inTurns(faultsIn('body', value)),
    checkSuccess(body) {
      success ??= compile(ajv, route.success.schema);
      return atOnce(faultsOf(success, longLists, 'body', body));
    },
  };
}

function compile(ajv: Ajv2020, schema: TSchema | undefined): ValidateFunction | undefined {
  if (schema === undefined) return undefined;
  const reference = (name: string): string => name;
  return ajv.compile(
    typeof schema.$id === 'string' ? { $ref: schema.$id } : withLongWords(withReferences(schema, reference)),
  );
}

/**
 * Converts parameters from text to numbers if the schema requires integers. Only plain decimal integers are converted.
 */
function readNumbers(schema: TObject, values: Record<string, unknown>): void {
  for (const [name, inner] of Object.entries(schema.properties)) {
    const value = values[name];
    if (inner.type === 'integer' && typeof value === 'string' && /^-?\d{1,15}$/.test(value)) {
      values[name] = Number(value);
    }
  }
}

/** Validation in steps of less than a millisecond. */
type Faults = Generator<void, readonly RefusalLocation[]>;

const ELEMENTS_PER_STEP = 256;

function* faultsOf(
  validate: ValidateFunction | undefined,
  longLists: LongLists,
  part: RequestPart,
  value: unknown,
): Faults {
  const faults: RefusalLocation[] = [];
  const lists: LongList[] = [];
  const check = (valid: ValidateFunction, what: unknown, path: string): void => {
    const errors = valid(what) ? [] : (valid.errors as ErrorObject[]);
    for (const error of errors) {
      if (faults.length > REFUSAL_MAX_LOCATIONS) break;
      faults.push(...locate(part, { ...error, instancePath: path + error.instancePath }));
    }
    lists.push(...longLists.take().map((list) => ({ ...list, path: path + list.path })));
  };
  if (validate !== undefined) check(validate, value, '');
  for (const { list, path, check: valid } of lists) {
    for (const [index, element] of list.entries()) {
      check(valid, element, `${path}/${index}`);
      if (faults.length > REFUSAL_MAX_LOCATIONS) return faults;
      if (index % ELEMENTS_PER_STEP === 0) yield;
    }
  }
  return faults;
}

function atOnce(faults: Faults): readonly RefusalLocation[] {
  for (;;) {
    const { done, value } = faults.next();
    if (done === true) return value;
  }
}

async function inTurns(faults: Faults): Promise<readonly RefusalLocation[]> {
  const slice = new Slice();
  for (;;) {
    const { done, value } = faults.next();
    if (done === true) return value;
    if (slice.isOver) await slice.pause();
  }
}
