import { Refusal } from '../../errors.js';
import { KEY_SCOPES, USUAL_SCOPE, type KeyScope } from '../../contract/grammar/key-scopes.js';
import type { Console } from '../../services/console/console.js';
import { SESSION_LIFETIME_MS, type BegunSession, type Visitor } from '../../services/console/sessions.js';
import { readBody, requireJson } from '../body/body.js';
import { parseStrictJson } from '../../json/strict.js';
import { page, sendJson, type InternalPage } from '../internal-page.js';
import { TIMEOUTS } from '../listener.js';
import { senderOf } from '../forwarded.js';
import type { Shell, ShellContext } from '../shell.js';
import { setSessionCookie, visitorOf } from './cookie.js';
import { consoleFiles } from './files.js';
import { isSameOrigin } from './same-origin.js';

const BODY_MAX_BYTES = 128 * 1024;
const TEXT_MAX_CHARACTERS = 256;
const SEQUENCE_MAX_CHARACTERS = 100_000;
const KEY_MAX_DAYS = 3_660;
const DAY_MS = 24 * 60 * 60 * 1000;

type Serve = (context: ShellContext, visitor: Visitor, console: Console) => unknown;

/**
 * Internal pages of the console beside the contract: session, residue pairs, neighbourhoods, attribute values and
 * calibrations; for operators also the system, keys and sessions. Other programs must not use them.
 */
export function consolePages(shell: Shell): readonly InternalPage[] {
  const { console } = shell;
  if (console === undefined) return [];
  const consolePage = (
    method: InternalPage['method'],
    name: string,
    who: 'visitor' | 'operator',
    serve: Serve,
  ): InternalPage =>
    page(
      `internal.console.${name}`,
      `/console/api/${name.replace('.', '/')}`,
      async (context) => {
        context.set('Cache-Control', 'no-store');
        const visitor = requireVisitor(shell, context, who);
        shell.admission.takeRequest(visitor.keyId);
        sendJson(context, (await serve(context, visitor, console)) ?? {});
      },
      method,
    );
  return [
    ...consoleFiles(shell),
    ...sessionPages(shell, console),
    consolePage('POST', 'closest', 'visitor', (context, visitor) =>
      closest(shell, context, visitor, console),
    ),
    consolePage('GET', 'values', 'visitor', async ({ state: { query } }, { organizationId }) => ({
      values: await console.values(
        query.release ?? '',
        query.field ?? '',
        query.text ?? '',
        query.below !== undefined,
        organizationId,
      ),
    })),
    consolePage('GET', 'protein', 'visitor', ({ state: { query } }, { organizationId }) =>
      console.protein(query.release ?? '', query.id, organizationId),
    ),
    consolePage('GET', 'neighbourhood', 'visitor', ({ state: { query } }, { organizationId }) =>
      console.neighbourhood(query.release ?? '', query.id ?? '', organizationId),
    ),
    consolePage('GET', 'propagated', 'visitor', async ({ state: { query } }, { organizationId }) => ({
      is_propagated: await console.isPropagated(query.release ?? '', organizationId),
    })),
    consolePage('GET', 'calibration', 'visitor', async ({ state: { query } }, { organizationId }) => ({
      card: (await console.calibration(query.release ?? '', organizationId)) ?? null,
    })),
    consolePage('GET', 'calibrated', 'visitor', async (_context, { organizationId }) => ({
      releases: await console.calibrated(organizationId),
    })),
    consolePage('GET', 'system', 'operator', async () => ({
      ...(await console.system()),
      executions: shell.admission.executions.counts(),
      readiness: shell.readiness(),
    })),
    consolePage('GET', 'jobs', 'operator', () => ({ jobs: console.jobs() })),
    ...operatorPages(shell, consolePage),
  ];
}

type ConsolePage = (
  method: InternalPage['method'],
  name: string,
  who: 'visitor' | 'operator',
  serve: Serve,
) => InternalPage;

function operatorPages(shell: Shell, consolePage: ConsolePage): readonly InternalPage[] {
  return [
    consolePage('GET', 'keys', 'operator', (_context, _visitor, { keys }) => ({
      keys: keys.list().map(({ sha256: _, ...row }) => row),
    })),
    consolePage('POST', 'keys', 'operator', async (context, _visitor, { keys }) => {
      const body = await bodyOf(context);
      const name = textMember(body, 'name', TEXT_MAX_CHARACTERS);
      const organization = textMember(body, 'organization', TEXT_MAX_CHARACTERS);
      const scope = scopeMember(body);
      const expiresAt = body.days === undefined ? undefined : inDays(shell.clock.now(), body.days);
      const { key, row } = await keys
        .create(name, organization, { scope, expiresAt })
        .catch(inWordsOfContract);
      return { key, id: row.id };
    }),
    consolePage('POST', 'keys.revoke', 'operator', async (context, _visitor, { keys }) => {
      await keys
        .revoke(textMember(await bodyOf(context), 'id', TEXT_MAX_CHARACTERS))
        .catch(inWordsOfContract);
    }),
    consolePage('GET', 'sessions', 'operator', (_context, { sessionId }, { sessions }) => ({
      sessions: sessions.list().map((row) => ({ ...row, is_this: row.id === sessionId })),
    })),
    consolePage('POST', 'sessions.revoke', 'operator', async (context, _visitor, { sessions }) => {
      await sessions.end([textMember(await bodyOf(context), 'id', TEXT_MAX_CHARACTERS)]);
    }),
  ];
}

/** The pages that sign a visitor in and out and report who is signed in. */
function sessionPages(shell: Shell, console: Console): readonly InternalPage[] {
  const path = '/console/api/session';
  const sendVisitor = (context: ShellContext, visitor: Visitor | undefined): void => {
    context.set('Cache-Control', 'no-store');
    sendJson(context, { visitor: visitor === undefined ? null : visitorAnswer(visitor) });
  };
  return [
    page('internal.console.session', path, (context) => sendVisitor(context, visitorOf(shell, context))),
    page(
      'internal.console.sign_in',
      path,
      async (context) => {
        requireOwnPage(shell, context);
        // Keys cannot be guessed. The rate limit bounds the cost of guessing.
        shell.admission.takeRequest(`sign-in ${senderOf(context.req, shell).address}`);
        const { token, visitor } = await enter(await bodyOf(context), console);
        setSessionCookie(shell, context, token, SESSION_LIFETIME_MS);
        sendVisitor(context, visitor);
      },
      'POST',
    ),
    page(
      'internal.console.sign_out',
      path,
      async (context) => {
        requireOwnPage(shell, context);
        const { sessionId } = visitorOf(shell, context) ?? {};
        if (sessionId !== undefined) await console.sessions.end([sessionId]);
        setSessionCookie(shell, context, '', 0);
        sendVisitor(context, undefined);
      },
      'DELETE',
    ),
  ];
}

function enter(body: Readonly<Record<string, unknown>>, { sessions }: Console): Promise<BegunSession> {
  return body.link === undefined
    ? sessions.enterByKey(textMember(body, 'key', TEXT_MAX_CHARACTERS))
    : sessions.enterByLink(textMember(body, 'link', TEXT_MAX_CHARACTERS));
}

function visitorAnswer({ name, organizationId, isOperator, isOpen, expiresAt }: Visitor) {
  return {
    name,
    organization: organizationId,
    is_operator: isOperator,
    is_open: isOpen,
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  };
}

/** Finds the closest residue pairs. The computation waits in the queue of searches. */
async function closest(
  shell: Shell,
  context: ShellContext,
  visitor: Visitor,
  console: Console,
): Promise<unknown> {
  const body = await bodyOf(context);
  const request = {
    database_release_id: textMember(body, 'database_release_id', TEXT_MAX_CHARACTERS),
    target_id: textMember(body, 'target_id', TEXT_MAX_CHARACTERS),
    sequence: textMember(body, 'sequence', SEQUENCE_MAX_CHARACTERS),
  };
  const place = shell.admission.executions.takePlace(visitor.keyId);
  try {
    await place.start(context.state.signal, undefined);
    return await console.closest(request, visitor.organizationId, context.state.signal);
  } finally {
    place.leave();
  }
}

/** Errors  Refusal `missing_api_key`, `permission_denied` */
function requireVisitor(shell: Shell, context: ShellContext, who: 'visitor' | 'operator'): Visitor {
  const visitor = visitorOf(shell, context);
  if (visitor === undefined) throw new Refusal('missing_api_key', 'Sign in to the console first.');
  if (who === 'operator' && !visitor.isOperator) {
    throw new Refusal(
      'permission_denied',
      'This is for the operator: a key of the scope admin, or the link of "gloaming console", lets him in.',
    );
  }
  return visitor;
}

/** Errors  Refusal `permission_denied` for the page of another site */
function requireOwnPage(shell: Shell, { req }: ShellContext): void {
  if (!isSameOrigin(req, senderOf(req, shell).host))
    throw new Refusal('permission_denied', 'Only the console itself may ask this.');
}

/** Errors  those of reading JSON; `validation_failed` where it is no object */
async function bodyOf({ req, res }: ShellContext): Promise<Readonly<Record<string, unknown>>> {
  requireJson(req);
  const body = parseStrictJson(await readBody(req, res, BODY_MAX_BYTES, TIMEOUTS.requestMs));
  if (typeof body === 'object' && body !== null && !Array.isArray(body))
    return body as Record<string, unknown>;
  throw new Refusal('validation_failed', 'The body must be an object.');
}

/** Errors  Refusal `validation_failed` */
function textMember(body: Readonly<Record<string, unknown>>, name: string, maxCharacters: number): string {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  if (typeof value === 'string' && value !== '' && value.length <= maxCharacters) return value;
  throw new Refusal('validation_failed', `"${name}" must be text of 1 to ${maxCharacters} characters.`, {
    param: name,
  });
}

/** Errors  Refusal `validation_failed` */
function scopeMember({ scope = USUAL_SCOPE }: Readonly<Record<string, unknown>>): KeyScope {
  const keyScope = KEY_SCOPES.find((each) => each === scope);
  if (keyScope !== undefined) return keyScope;
  throw new Refusal('validation_failed', `"scope" is one of ${KEY_SCOPES.join(', ')}.`, { param: 'scope' });
}

/** Errors  Refusal `validation_failed` */
function inDays(now: Date, days: unknown): string {
  if (typeof days === 'number' && Number.isInteger(days) && days >= 1 && days <= KEY_MAX_DAYS) {
    return new Date(now.getTime() + days * DAY_MS).toISOString();
  }
  throw new Refusal('validation_failed', `"days" is a whole number from 1 to ${KEY_MAX_DAYS}.`, {
    param: 'days',
  });
}

/** Translates refusals of the command line into refusals of the contract. */
function inWordsOfContract(error: unknown): never {
  if (error instanceof Refusal) throw new Refusal('validation_failed', error.message);
  throw error;
}
