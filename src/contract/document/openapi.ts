import type { TObject, TSchema } from '@sinclair/typebox';
import { canonicalSha256 } from '../../canonical.js';
import { FailureEnvelope } from '../grammar/envelope.js';
import { HomologyFailure, Problem } from '../grammar/failures.js';
import {
  COMMON_RESPONSE_HEADERS,
  CONTRACT_VERSION,
  FAILURE_RESPONSE_HEADERS,
  STATUS_RESPONSE_HEADERS,
  SUCCESS_RESPONSE_HEADERS,
} from '../grammar/headers.js';
import { namedSchemas, withReferences, type JsonSchema } from './references.js';
import { REFUSALS } from '../grammar/refusals.js';
import type { ContractRefusalCode } from '../../refusal-codes.js';
import { TAGS, type Route } from '../grammar/route.js';
import { headerSchemas, refusalsOf } from './routes.js';

const COMPONENT = (name: string): string => `#/components/schemas/${name}`;

/** Returns the OpenAPI 3.1 document of these routes, as the server publishes it at this base URL. */
export function openApiDocument(routes: readonly Route[], serverUrl: string): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) };
  }
  const used = new Set<string>(routes.map(({ tag }) => tag));
  const tags = Object.entries(TAGS).filter(([name]) => used.has(name));
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Gloaming',
      version: CONTRACT_VERSION,
      description:
        'Finds distant homologs of a protein: exact late-interaction search with calibrated significance. ' +
        '`x-chosen` marks decisions that the interface document leaves open.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    security: [{ apiKey: [] }],
    tags: tags.map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key, `glm_…`. The command `gloaming keys create <name>` creates one.',
        },
        signedUrl: {
          type: 'apiKey',
          in: 'query',
          name: 'signature',
          description: 'Signature of a signed URL; the request needs no API key.',
        },
        sqlCredential: {
          type: 'http',
          scheme: 'basic',
          description: 'User name and password of a SQL credential.',
        },
      },
      headers: Object.fromEntries(
        Object.entries(ALL_HEADERS).map(([name, schema]) => [name, headerObject(name, schema)]),
      ),
      schemas: componentSchemas(routes),
    },
  };
  return asPublished(document) as JsonSchema;
}

/** Returns a schema in standard keywords only: those of OpenAPI, and extensions that begin with `x-`. */
export function asPublished(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(asPublished);
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      if (key === 'chosen' && value === true) return ['x-chosen', true];
      return [key === 'publishedPattern' ? 'pattern' : key, asPublished(value)];
    }),
  );
}

const ALL_HEADERS: Readonly<Record<string, TSchema>> = Object.assign(
  {},
  COMMON_RESPONSE_HEADERS,
  SUCCESS_RESPONSE_HEADERS,
  FAILURE_RESPONSE_HEADERS,
  ...Object.values(STATUS_RESPONSE_HEADERS),
);

/** Value of `Service-Contract-Digest`: hash of the document without the URL of the server. Source  RFC 8785 */
export function contractDigest(document: JsonSchema): string {
  const { servers: _servers, ...contract } = document;
  return `sha256:${canonicalSha256(contract)}`;
}

function componentSchemas(routes: readonly Route[]): JsonSchema {
  const roots = routes.flatMap((route) => [route.success.schema, ...(route.body ? [route.body] : [])]);
  const schemas = namedSchemas([...roots, FailureEnvelope, HomologyFailure, Problem], COMPONENT);
  return Object.fromEntries([...schemas].map(([name, schema]) => [name, withMapping(schema)]));
}

/** OpenAPI's discriminator requires a map from each value to its component. */
function withMapping(schema: JsonSchema): JsonSchema {
  if (schema.discriminator === undefined) return schema;
  const references = (schema.oneOf as readonly { readonly $ref: string }[]).map(({ $ref }) => $ref);
  const mapping = Object.fromEntries(references.map(($ref) => [$ref.slice($ref.indexOf('.') + 1), $ref]));
  return { ...schema, discriminator: { ...(schema.discriminator as JsonSchema), mapping } };
}

function operation(route: Route): JsonSchema {
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    parameters: [
      ...objectParameters('path', route.params),
      ...objectParameters('query', route.query),
      // The descriptions explain `Accept`, because OpenAPI ignores a parameter of this name.
      ...Object.entries(headerSchemas(route))
        .filter(([name]) => name !== 'Accept')
        .map(([name, schema]) => parameter('header', name, schema, false)),
    ],
    ...(route.access === undefined ? {} : { security: SECURITY[route.access] }),
    ...requestBody(route),
    responses: { ...successResponses(route), ...failureResponses(route) },
  };
}

const SECURITY: Readonly<Record<NonNullable<Route['access']>, readonly JsonSchema[]>> = {
  key: [{ apiKey: [] }],
  signature: [{ signedUrl: [] }],
  key_or_signature: [{ apiKey: [] }, { signedUrl: [] }],
  sql_credential: [{ sqlCredential: [] }],
};

function requestBody({ body, isBodyOptional = false, rawBody }: Route): JsonSchema {
  if (body !== undefined) {
    const content = { 'application/json': { schema: refTo(body) } };
    return { requestBody: { required: !isBodyOptional, content } };
  }
  if (rawBody === undefined) return {};
  const { description } = rawBody;
  return { requestBody: { required: true, description, content: { 'application/octet-stream': {} } } };
}

function objectParameters(place: 'path' | 'query', schema: TObject | undefined): readonly JsonSchema[] {
  return Object.entries(schema?.properties ?? {}).map(([name, inner]) => {
    const isRequired = (schema?.required ?? []).includes(name) && inner.default === undefined;
    return parameter(place, name, inner, isRequired);
  });
}

function parameter(place: string, name: string, schema: TSchema, required: boolean): JsonSchema {
  const { description, ...rest } = refTo(schema);
  return { name, in: place, required, ...(description ? { description } : {}), schema: rest };
}

function successResponses({ success, otherSuccesses }: Route): JsonSchema {
  const { status, schema, description, mediaType = 'application/json', otherMediaType } = success;
  const descriptions = Object.entries({ [status]: description, ...otherSuccesses });
  const headers = headerReferences({ ...COMMON_RESPONSE_HEADERS, ...SUCCESS_RESPONSE_HEADERS });
  const content = {
    [mediaType]: { schema: refTo(schema) },
    ...(otherMediaType === undefined ? {} : { [otherMediaType]: {} }),
  };
  return Object.fromEntries(
    descriptions.map(([code, text]) => [
      code,
      { description: text, headers, ...(code === '304' ? {} : { content }) },
    ]),
  );
}

function failureResponses(route: Route): JsonSchema {
  const byStatus = new Map<number, ContractRefusalCode[]>();
  for (const code of refusalsOf(route)) {
    const { status } = REFUSALS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const statuses = [...byStatus].sort(([left], [right]) => left - right);
  return Object.fromEntries(
    statuses.map(([status, codes]) => [status, failureResponse(route, status, codes)]),
  );
}

function failureResponse(route: Route, status: number, codes: readonly ContractRefusalCode[]): JsonSchema {
  const content: Record<string, JsonSchema> = {};
  for (const code of codes) {
    // The route is unknown until the request line has been read.
    const stages = REFUSALS[code].stage === 'unrouted' ? [undefined, route] : [route];
    for (const { mediaType, schema } of stages.map((each) => failureShape(each, code)))
      content[mediaType] = { schema: refTo(schema) };
  }
  return {
    description: codes.map((code) => `- \`${code}\`: ${REFUSALS[code].meaning}`).join('\n'),
    headers: headerReferences({
      ...COMMON_RESPONSE_HEADERS,
      ...FAILURE_RESPONSE_HEADERS,
      ...STATUS_RESPONSE_HEADERS[status],
    }),
    content,
  };
}

/** Returns the body schema in which this route reports this code. Without a route, every failure is a problem body. */
export function failureShape(
  route: Pick<Route, 'errorStyle'> | undefined,
  code: ContractRefusalCode,
): { readonly mediaType: string; readonly schema: TSchema } {
  const style = route?.errorStyle ?? 'problem';
  if (style === 'problem' || (style === 'envelope' && REFUSALS[code].stage !== 'operation')) {
    return { mediaType: 'application/problem+json', schema: Problem };
  }
  const schema = style === 'homology' ? HomologyFailure : FailureEnvelope;
  return { mediaType: 'application/json', schema };
}

function headerObject(name: string, schema: TSchema): JsonSchema {
  const { description, ...rest } = refTo(schema);
  const required = Object.hasOwn({ ...COMMON_RESPONSE_HEADERS, ...FAILURE_RESPONSE_HEADERS }, name);
  return { ...(description ? { description } : {}), required, schema: rest };
}

function headerReferences(headers: Readonly<Record<string, TSchema>>): JsonSchema {
  return Object.fromEntries(
    Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

function refTo(schema: TSchema): JsonSchema {
  return typeof schema.$id === 'string' ? { $ref: COMPONENT(schema.$id) } : withReferences(schema, COMPONENT);
}
