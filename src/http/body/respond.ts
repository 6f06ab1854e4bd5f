import { Readable } from 'node:stream';
import { canonicalSha256 } from '../../canonical.js';
import type { Evidence, Provenance } from '../../contract/grammar/envelope.js';
import type { Route } from '../../contract/grammar/route.js';
import type { RouteValidator } from '../../contract/document/validation.js';
import { assert } from '../../errors.js';
import type { AnyReply, ByteContent, Reply, StreamReply } from '../../services/reply.js';
import { sendBytes } from './send-bytes.js';
import type { Shell, ShellContext, ShellState } from '../shell.js';

/** Writes what a handler answers, as the route's contract shapes it. */
export function respond(shell: Shell, context: ShellContext, reply: AnyReply<unknown>): void {
  const route = context.state.route as Route;
  if ('stream' in reply) return respondWithStream(context, route, reply);
  context.status = reply.status ?? route.success.status;
  if ('value' in reply) return writeJson(shell, context, route, reply);
  context.set(reply.headers ?? {});
  if ('bytes' in reply) writeBytes(context, reply.bytes);
}

/** A stream has no end that could be checked or stored; it ends with its client. */
function respondWithStream(context: ShellContext, route: Route, { stream }: StreamReply): void {
  context.status = route.success.status;
  context.set('Content-Type', route.success.mediaType as string);
  context.set('Cache-Control', 'no-store');
  context.body = Readable.from(stream, { objectMode: false, encoding: 'utf8' });
}

function writeJson(shell: Shell, context: ShellContext, route: Route, reply: Reply<unknown>): void {
  const body =
    route.successStyle === 'bare' ? bare(shell, route, reply) : envelope(shell, context.state, reply);
  if (shell.isResponseChecked) requireContract(shell, route, body);
  context.set('Content-Type', 'application/json');
  const schemaName = route.success.schema.$id as string;
  context.set('Link', `<${schemaUrl(shell, schemaName)}>; rel="describedBy"`);
  if (reply.billableUnits !== undefined) context.set('X-Service-Billable-Units', String(reply.billableUnits));
  if (reply.headers !== undefined) context.set(reply.headers);
  context.body = (body === reply.value ? reply.json : undefined) ?? JSON.stringify(body);
}

function writeBytes(context: ShellContext, { contentType, sizeBytes, open }: ByteContent): void {
  context.set('Content-Type', contentType);
  if (sizeBytes !== undefined) context.length = sizeBytes;
  if (context.method === 'HEAD') return;
  // Koa would pipe a stream, which never tells when a piece has gone out and its memory may go.
  context.respond = false;
  sendBytes(context.res, open()).catch((error: unknown) => context.app.emit('error', error, context));
}

/** Absolute URL of a schema, below the address that the operator configured, never one that a request named. */
export function schemaUrl(shell: Shell, name: string): string {
  return `${shell.baseUrl()}/schemas/${name}.json`;
}

/** The handler's value, with the address of its schema where the contract gives the body one. */
function bare(shell: Shell, { success: { schema } }: Route, { value }: Reply<unknown>): unknown {
  if (!Object.hasOwn((schema.properties ?? {}) as object, '$schema')) return value;
  return { ...(value as object), $schema: schemaUrl(shell, schema.$id as string) };
}

function envelope(shell: Shell, state: ShellState, reply: Reply<unknown>): unknown {
  const route = state.route as Route;
  return {
    ok: true,
    provenance: provenance(shell, state, reply),
    warnings: reply.warnings ?? [],
    $schema: schemaUrl(shell, route.success.schema.$id as string),
    data: reply.value,
    evidence: evidence(shell, state, reply, 1),
  };
}

/** Provenance of a success, and of a failure as far as the request came. */
export function provenance(shell: Shell, state: ShellState, reply?: Reply<unknown>): Provenance {
  const { params, query, body } = state.input ?? { params: state.params, query: state.query, body: null };
  return {
    created_at: shell.clock.now().toISOString(),
    operation: state.operation,
    request_id: state.requestId,
    server_version: shell.serverVersion,
    cache_hit: reply?.isCacheHit ?? false,
    database_snapshots: reply?.databaseSnapshots ?? [],
    generated_object_ids: [...(reply?.generatedObjectIds ?? [])],
    input_hash: state.inputHash ?? canonicalSha256(null),
    parameters_hash: state.parametersHash ?? canonicalSha256({ path: params, query, body: body ?? null }),
    tool_versions: reply?.toolVersions ?? [],
  };
}

export function evidence(
  shell: Shell,
  state: ShellState,
  reply: Reply<unknown> | undefined,
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

function requireContract(shell: Shell, route: Route, body: unknown): void {
  // Through JSON, as the client will see it: undefined members are not there.
  const faults = (shell.validators.get(route) as RouteValidator).checkSuccess(
    JSON.parse(JSON.stringify(body)),
  );
  const places = faults.map(({ location, message }) => `${location} ${message}`).join('; ');
  assert(faults.length === 0, `an answer of ${route.operationId} must keep the contract: ${places}`);
}
