import { REFUSALS } from '../../contract/grammar/refusals.js';
import type { ContractRefusalCode } from '../../refusal-codes.js';
import { Refusal } from '../../errors.js';
import { COLABFOLD_ANSWER_MAX_MS, COLABFOLD_FORM_MAX_BYTES } from '../../limits.js';
import type { TicketState } from '../../services/colabfold/tickets.js';
import type { Principal, RequestContext } from '../../services/context.js';
import { discardBody, readBody } from '../body/body.js';
import { TIMEOUTS } from '../listener.js';
import { failureOf } from '../steps/failure.js';
import type { InternalPage } from '../internal-page.js';
import { colabfoldPage } from './colabfold-page.js';
import { requireScope } from '../steps/scopes.js';
import type { ColabfoldDoor, Shell, ShellContext } from '../shell.js';

type Serve = (context: ShellContext, request: RequestContext) => Promise<void>;

/** Codes that mean: retry the same request later. */
const LATER: ReadonlySet<ContractRefusalCode> = new Set([
  'rate_limit_exceeded',
  'queue_full',
  'run_storage_full',
  'idempotency_key_in_use',
  'idempotency_storage_full',
  'worker_unavailable',
  'server_stopping',
]);

/**
 * ColabFold's MSA interface. Clients read `status` of a JSON body whatever the HTTP status, and time out a request
 * after 6 s. Every answer except an archive is such a body, also for failures.
 * Source  the requests of ColabFold's client
 */
export function colabfoldPages(shell: Shell): readonly InternalPage[] {
  const { colabfold: door } = shell;
  if (door === undefined) return [];
  const { tickets } = door;
  const page = (name: string, method: 'GET' | 'POST', path: string, serve: Serve): InternalPage => ({
    name: `internal.colabfold.${name}`,
    method,
    path: door.settings.path + path,
    serve: (context) => answer(shell, door, context, serve),
  });
  const submit =
    (route: 'msa' | 'pair'): Serve =>
    async (context, request) => {
      const form = await readForm(context);
      const state = await inTime(shell, tickets.submit(route, form, request));
      if (state === undefined) {
        send(context, 429, { status: 'RATELIMIT', reason: 'The ticket is being made; send it again.' });
      } else sendState(context, state);
    };
  return [
    colabfoldPage(shell, door),
    page('submit', 'POST', '/ticket/msa', submit('msa')),
    page('submit_pair', 'POST', '/ticket/pair', submit('pair')),
    page('status', 'GET', '/ticket/{ticket}', async (context, request) => {
      const state = tickets.status(ticketOf(context), request);
      if (state === undefined) sendAbsent(context);
      else sendState(context, state);
    }),
    page('download', 'GET', '/result/download/{ticket}', async (context, request) => {
      const archive = await tickets.archive(ticketOf(context), request);
      if (archive === undefined) return sendAbsent(context);
      context.set({
        'Content-Type': 'application/gzip',
        'Content-Disposition': 'attachment; filename="msa.tar.gz"',
        'Cache-Control': 'private, no-store',
      });
      context.body = archive;
    }),
  ];
}

/** Admits and serves the request, and translates its failure into the words of the interface. */
async function answer(shell: Shell, door: ColabfoldDoor, context: ShellContext, serve: Serve): Promise<void> {
  const { state } = context;
  try {
    const leave = shell.admission.enter();
    try {
      state.principal = principalOf(shell, door, context);
      requireScope(state.principal, 'submit', 'a ticket');
      shell.admission.takeRequest(state.principal.keyId);
      await serve(context, {
        ...state.principal,
        requestId: state.requestId,
        signal: state.signal,
        baseUrl: shell.baseUrl(),
        receivedAtMs: state.receivedAtMs,
      });
    } finally {
      leave();
    }
  } catch (error) {
    const { code, message } = failureOf(error);
    state.errorCode = code;
    if (code === 'internal_error' || code === 'storage_unavailable')
      shell.log.error({ err: error, request_id: state.requestId }, 'A request failed by our fault.');
    await discardBody(context.req, context.res).catch(() => undefined);
    const status = LATER.has(code)
      ? laterStatus(context)
      : code === 'storage_unavailable'
        ? 'MAINTENANCE'
        : 'ERROR';
    send(context, REFUSALS[code].status, { status, reason: message });
  }
}

/** A polling client must continue to poll. A submitting client must submit again. */
function laterStatus({ method }: ShellContext): 'UNKNOWN' | 'RATELIMIT' {
  return method === 'POST' ? 'RATELIMIT' : 'UNKNOWN';
}

/**
 * Returns undefined when the work takes longer than clients wait. The work continues, and the next poll finds its
 * result.
 */
async function inTime<Value>(shell: Shell, promised: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  promised.catch((error: unknown) => {
    if (isLate) shell.log.warn({ err: error }, 'A ticket that was not waited for could not be made.');
  });
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      isLate = true;
      resolve(undefined);
    }, COLABFOLD_ANSWER_MAX_MS);
  });
  try {
    return await Promise.race([promised, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the form. Boltz declares its form as JSON when it sends a key in a header of its own. */
async function readForm({ req, res }: ShellContext): Promise<{ readonly q: string; readonly mode: string }> {
  const body = await readBody(req, res, COLABFOLD_FORM_MAX_BYTES, TIMEOUTS.requestMs);
  const form = new URLSearchParams(body.toString('utf8'));
  return { q: form.get('q') ?? '', mode: form.get('mode') ?? '' };
}

/** Errors  Refusal `missing_api_key`, `invalid_api_key` */
function principalOf(shell: Shell, { settings }: ColabfoldDoor, context: ShellContext): Principal {
  const key = keyOf(context, settings.keyHeader);
  if (key?.startsWith('glm_')) return shell.authenticate(key);
  // Protenix sends a fixed name and password to every server. They do not count as credentials.
  const { anonymousOrganization: organizationId } = settings;
  if (organizationId !== undefined && isFromHere(context)) return { keyId: 'anonymous', organizationId };
  if (key !== undefined) return shell.authenticate(key);
  throw new Refusal(
    'missing_api_key',
    `Send an API key as the password of HTTP Basic (http://x:KEY@…), as a Bearer token or in ${settings.keyHeader}.`,
  );
}

function keyOf(context: ShellContext, header: string): string | undefined {
  const own = context.get(header);
  if (own !== '') return own;
  const authorization = context.get('Authorization');
  const bearer = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization)?.[1];
  if (bearer !== undefined) return bearer;
  const basic = /^Basic +([A-Za-z0-9+/=]{1,1024})$/i.exec(authorization)?.[1];
  const text = Buffer.from(basic ?? '', 'base64').toString('utf8');
  return basic === undefined ? undefined : text.slice(text.indexOf(':') + 1);
}

/** Headers that a browser adds to a page's request, and a proxy to a forwarded one. */
const FOREIGN_HEADERS = [
  'origin',
  'referer',
  'sec-fetch-site',
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-real-ip',
];
const LOOPBACK_ADDRESS = /^(::1|(::ffff:)?127(\.\d{1,3}){3})$/;
/** Names of this machine. A page may point a name of its own to this machine, so other names are refused. */
const LOOPBACK_HOST = /^(localhost|\[::1\]|127(\.\d{1,3}){3})(:\d{1,5})?$/i;

function isFromHere({ req }: ShellContext): boolean {
  return (
    LOOPBACK_ADDRESS.test(req.socket.remoteAddress ?? '') &&
    LOOPBACK_HOST.test(req.headers.host ?? '') &&
    FOREIGN_HEADERS.every((name) => req.headers[name] === undefined)
  );
}

function ticketOf({ state }: ShellContext): string {
  return state.params.ticket ?? '';
}

function sendState(context: ShellContext, state: TicketState): void {
  send(context, 200, state);
}

/** Answers an absent ticket with ERROR. Clients poll for ever while the status is UNKNOWN. */
function sendAbsent(context: ShellContext): void {
  send(context, 404, { status: 'ERROR', reason: 'There is no such ticket, or its results have expired.' });
}

function send(context: ShellContext, status: number, body: object): void {
  context.status = status;
  context.set({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  context.body = JSON.stringify(body);
}
