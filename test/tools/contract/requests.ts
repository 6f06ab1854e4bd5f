import type { Operation } from './fuzzer.js';
import type { Json } from './schema-arbitrary.js';
import { exampleOf, type CaseSource } from './schema-cases.js';

interface ExampleRequest {
  readonly path: Json;
  readonly query: Json;
  readonly body?: unknown;
}

/** The smallest request of an operation: required members only, from its own examples. */
export function exampleRequest(source: CaseSource, operation: Operation): ExampleRequest {
  const part = (place: string): Json =>
    Object.fromEntries(
      operation.parameters
        .filter((parameter) => parameter.in === place && parameter.required)
        .map(({ name, schema }) => [name, exampleOf(schema, source, name)]),
    );
  const schema = operation.requestBody?.content['application/json']?.schema;
  return {
    path: part('path'),
    query: part('query'),
    ...(schema === undefined ? {} : { body: exampleOf(schema, source) }),
  };
}

/** Id of the created object, in the data or in a member of the data. */
export function createdId(body: Json, name: string): string | undefined {
  const data = (body['data'] ?? {}) as Json;
  const inner =
    data[name.replace(/_id$/, '')] ?? Object.values(data).find((each) => (each as Json | null)?.['id']);
  return (data['id'] ?? (inner as Json | undefined)?.['id']) as string | undefined;
}
