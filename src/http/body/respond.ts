import { Readable } from 'node:stream';
import { canonicalSha256 } from '../../canonical.js';
import type { Evidence, Provenance } from '../../contract/grammar/envelope.js';
import type { Route } from '../../contract/grammar/route.js';
import type { RouteValidator } from '../../contract/document/validation.js';
import { assert } from '../../errors.js';
import type { JsonPieces } from '../../json/pieces.js';
import { WRITTEN_BODY_MAX_BYTES } from '../../limits.js';
import type { AnyReply, ByteContent, Reply, StreamReply, WrittenReply } from '../../services/reply.js';
import { sendBytes } from './send-bytes.js';
import type { Shell, ShellContext, ShellState } from '../shell.js';

/** Writes the handler's reply in the shape that the contract of the route gives. */
export function respond(shell: Shell, context: ShellContext, reply: AnyReply<unknown>): void {
  const route = context.state.route as Route;
  if ('stream' in reply) return respondWithStream(context, route, reply);
  context.status = reply.status ?? route.success.status;
  if ('value' in reply || 'json' in reply) return writeJson(shell, context, route, reply);
  setHeaders(context, reply.headers);
  if ('bytes' in reply) writeBytes(context, reply.bytes);
}

/** Sets the headers of the reply and adds what the reply varies by to the common Vary header. */
function setHeaders(
  context: ShellContext,
  { Vary, ...headers }: Readonly<Record<string, string>> = {},
): void {
  context.set(headers);
  if (Vary !== undefined) context.vary(Vary);
}

/** Sends an event stream. The stream cannot be validated or stored, and it ends when its client disconnects. */
function respondWithStream(context: ShellContext, route: Route, { stream }: StreamReply): void {
  context.status = route.success.status;
  context.set('Content-Type', route.success.mediaType as string);
  context.set('Cache-Control', 'no-store');
  context.body = Readable.from(stream, { objectMode: false, encoding: 'utf8' });
}

function writeJson(
  shell: Shell,
  context: ShellContext,
  route: Route,
  reply: Reply<unknown> | WrittenReply,
): void {
  context.set('Content-Type', 'application/json');
  const schemaName = route.success.schema.$id as string;
  context.set('Link', `<${schemaUrl(shell, schemaName)}>; rel="describedBy"`);
  if (reply.billableUnits !== undefined) context.set('X-Service-Billable-Units', String(reply.billableUnits));
  if (reply.headers !== undefined) setHeaders(context, belowBase(shell, reply.headers));
  const body = bodyOf(shell, context.state, reply);
  if (shell.isResponseChecked) requireContract(shell, route, body);
  if (typeof body === 'string') context.body = body;
  else writePieces(context, body);
}

/** Places a Location path below the path of the public address. */
function belowBase(
  { basePath }: Shell,
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const { Location: place } = headers;
  return place?.startsWith('/') ? { ...headers, Location: `${basePath}${place}` } : headers;
}

/** The body as text. A value that arrived as JSON keeps its bytes. */
function bodyOf(shell: Shell, state: ShellState, reply: Reply<unknown> | WrittenReply): string | JsonPieces {
  const { route } = state as { readonly route: Route };
  const isBare = route.successStyle === 'bare';
  if (reply.json !== undefined && !hasSchemaAddress(route))
    return isBare ? reply.json : envelopePieces(shell, state, reply, reply.json);
  assert('value' in reply, 'what came as JSON only is the whole of a body, or its data');
  return JSON.stringify(isBare ? bare(shell, route, reply) : envelope(shell, state, reply));
}

/** Sends a large body piece by piece. A small body, or one that is stored for its Idempotency-Key, is sent as text. */
function writePieces(context: ShellContext, pieces: JsonPieces): void {
  const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const isStored = context.state.headers['Idempotency-Key'] !== undefined;
  if (isStored || sizeBytes <= WRITTEN_BODY_MAX_BYTES) {
    context.body = Buffer.concat(pieces).toString('utf8');
    return;
  }
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield* pieces;
  }
  const open = () => ({ bytes: bytes(), close: () => undefined });
  writeBytes(context, { contentType: 'application/json', sizeBytes, open });
}

function writeBytes(context: ShellContext, { contentType, sizeBytes, whole, open }: ByteContent): void {
  context.set('Content-Type', contentType);
  if (whole !== undefined) {
    context.body = whole;
    return;
  }
  if (sizeBytes !== undefined) context.length = sizeBytes;
  if (context.method === 'HEAD') return;
  // Koa would pipe the stream, and a pipe does not report when the memory of a piece may be freed.
  context.respond = false;
  sendBytes(context.res, open()).catch((error: unknown) => context.app.emit('error', error, context));
}

/** Absolute URL of a schema below the configured address. The address never comes from a request. */
export function schemaUrl(shell: Shell, name: string): string {
  return `${shell.baseUrl()}/schemas/${name}.json`;
}

/** The handler's value, with the URL of its schema where the contract asks for one. */
function bare(shell: Shell, route: Route, { value }: Reply<unknown>): unknown {
  if (!hasSchemaAddress(route)) return value;
  return { ...(value as object), $schema: schemaUrl(shell, route.success.schema.$id as string) };
}

function hasSchemaAddress({ successStyle, success: { schema } }: Route): boolean {
  return successStyle === 'bare' && Object.hasOwn((schema.properties ?? {}) as object, '$schema');
}

function envelope(shell: Shell, state: ShellState, reply: Reply<unknown>): object {
  return {
    ...envelopeHead(shell, state, reply),
    data: reply.value,
    evidence: evidence(shell, state, reply, 1),
  };
}

/** The envelope around data that is JSON text already. */
function envelopePieces(
  shell: Shell,
  state: ShellState,
  reply: Reply<unknown> | WrittenReply,
  data: JsonPieces,
): JsonPieces {
  const head = JSON.stringify(envelopeHead(shell, state, reply));
  const rest = JSON.stringify({ evidence: evidence(shell, state, reply, 1) });
  return [Buffer.from(`${head.slice(0, -1)},"data":`), ...data, Buffer.from(`,${rest.slice(1)}`)];
}

function envelopeHead(shell: Shell, state: ShellState, reply: Reply<unknown> | WrittenReply): object {
  const route = state.route as Route;
  return {
    ok: true,
    provenance: provenance(shell, state, reply),
    warnings: reply.warnings ?? [],
    $schema: schemaUrl(shell, route.success.schema.$id as string),
  };
}

/** Provenance of a success, or of a failure as far as the request was processed. */
export function provenance(
  shell: Shell,
  state: ShellState,
  reply?: Reply<unknown> | WrittenReply,
): Provenance {
  const { params, query, body } = state.input ?? { params: state.params, query: state.query, body: null };
  return {
    created_at: shell.clock.now().toISOString(),
    operation: (state.route ?? state.pathRoute)?.operationId ?? state.operation,
    request_id: state.requestId,
    server_version: shell.serverVersion,
    cache_hit: reply?.isCacheHit ?? false,
    database_snapshots: reply?.databaseSnapshots ?? [],
    generated_object_ids: [...(reply?.generatedObjectIds ?? [])],
    ...(state.inputHash !== undefined && { input_hash: state.inputHash }),
    parameters_hash: state.parametersHash ?? canonicalSha256({ path: params, query, body: body ?? null }),
    tool_versions: [
      { name: 'gloaming', version: shell.serverVersion, path: shell.workerId },
      ...(reply?.toolVersions ?? []),
    ],
  };
}

export function evidence(
  shell: Shell,
  state: ShellState,
  reply: Reply<unknown> | WrittenReply | undefined,
  rows: number,
): Evidence {
  return {
    warnings_count: reply?.warnings?.length ?? 0,
    duration_ms: Math.max(0, Math.round(shell.clock.nowMs() - state.receivedAtMs)),
    input_refs: [...(reply?.inputRefs ?? [])],
    object_refs: [...(reply?.objectRefs ?? [])],
    output_refs: [...(reply?.outputRefs ?? [])],
    row_count: reply?.rowCount ?? rows,
  };
}

function requireContract(shell: Shell, route: Route, body: string | JsonPieces): void {
  // Checks the body as the client sees it: JSON drops undefined members.
  const text = typeof body === 'string' ? body : Buffer.concat(body).toString('utf8');
  const faults = (shell.validators.get(route) as RouteValidator).checkSuccess(JSON.parse(text));
  const places = faults.map(({ location, message }) => `${location} ${message}`).join('; ');
  assert(faults.length === 0, `an answer of ${route.operationId} must keep the contract: ${places}`);
}
