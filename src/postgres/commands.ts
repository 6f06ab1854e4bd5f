import { POSTGRES_TYPE_TEXT, type ServerParameters } from './parameters.js';
import { withoutComments } from './split-statements.js';

/*
 * Answers statements about the session, which read no rows. A session has no changeable state, so most of these
 * statements are acknowledged and do nothing. A transaction groups statements that only read.
 */

export interface CommandAnswer {
  /** Tag in CommandComplete. */
  readonly tag: string;
  readonly transaction?: 'begin' | 'end' | 'rollback';
  /** Statement timeout of the session from now on; 0 is the server's maximum. */
  readonly timeoutMs?: number;
  /** One row with one text column. */
  readonly value?: { readonly name: string; readonly text: string };
}

const DONE: readonly (readonly [RegExp, string])[] = [
  [/^set\b/i, 'SET'],
  [/^reset\b/i, 'RESET'],
  [/^discard\b/i, 'DISCARD ALL'],
  [/^deallocate\s+(prepare\s+)?all$/i, 'DEALLOCATE ALL'],
  [/^savepoint\b/i, 'SAVEPOINT'],
  [/^release\b/i, 'RELEASE'],
  [/^unlisten\b/i, 'UNLISTEN'],
  [/^close\s+all$/i, 'CLOSE CURSOR ALL'],
];
/** Settings that clients send at their start or between statements. Other settings are refused. */
const SETTABLE: readonly RegExp[] = [
  /^set\s+session\s+characteristics\b/i,
  /^(?:re)?set\s+(?:session\s+|local\s+)?(?:transaction\b|time\s+zone\b|names\b|all$)/i,
  /^(?:re)?set\s+(?:session\s+|local\s+)?([a-z_.]+)\s*(?:=|to\b|$)/i,
];
const SETTINGS = new Set([
  'application_name',
  'bytea_output',
  'client_encoding',
  'client_min_messages',
  'datestyle',
  'default_transaction_isolation',
  'default_transaction_read_only',
  'enable_seqscan',
  'extra_float_digits',
  'geqo',
  'idle_in_transaction_session_timeout',
  'intervalstyle',
  'jit',
  'lock_timeout',
  'search_path',
  'ssl_renegotiation_limit',
  'standard_conforming_strings',
  'statement_timeout',
  'synchronize_seqscans',
  'timezone',
]);

/** Returns the answer, or undefined if the statement is for the engine. */
export function answerCommand(statement: string, parameters: ServerParameters): CommandAnswer | undefined {
  const text = withoutComments(statement).replace(/;\s*$/, '').trim();
  if (/^(begin|start\s+transaction)\b/i.test(text)) return { tag: 'BEGIN', transaction: 'begin' };
  if (/^(commit|end)\b/i.test(text)) return { tag: 'COMMIT', transaction: 'end' };
  if (/^rollback\s+to\b/i.test(text)) return { tag: 'ROLLBACK', transaction: 'rollback' };
  if (/^(rollback|abort)\b/i.test(text)) return { tag: 'ROLLBACK', transaction: 'end' };
  const shown = /^show\s+(.+)$/i.exec(text)?.[1];
  if (shown !== undefined) return showParameter(shown, parameters);
  const done = DONE.find(([pattern]) => pattern.test(text));
  if (done === undefined || !isHarmless(text)) return undefined;
  const timeoutMs = statementTimeout(text);
  return { tag: done[1], ...(timeoutMs !== undefined && { timeoutMs }) };
}

function isHarmless(text: string): boolean {
  if (!/^(re)?set\b/i.test(text)) return true;
  const match = SETTABLE.map((pattern) => pattern.exec(text)).find((parsed) => parsed !== null);
  const name = match?.[1];
  return match !== undefined && (name === undefined || SETTINGS.has(name.toLowerCase()));
}

const UNITS_MS: Readonly<Record<string, number>> = { '': 1, ms: 1, s: 1_000, min: 60_000, h: 3_600_000 };

/** Parses a timeout. Source  PostgreSQL, "Parameter Names and Values": milliseconds without a unit */
function statementTimeout(text: string): number | undefined {
  if (/^(?:reset\s+statement_timeout|reset\s+all|discard\s+all)$/i.test(text)) return 0;
  const set =
    /^set\s+(?:session\s+|local\s+)?statement_timeout\s*(?:=|to\b)\s*(?:'?(\d{1,9})\s*(ms|s|min|h)?'?|default)$/i;
  const match = set.exec(text);
  return match === null ? undefined : Number(match[1] ?? 0) * UNITS_MS[(match[2] ?? '').toLowerCase()];
}

function showParameter(shown: string, parameters: ServerParameters): CommandAnswer | undefined {
  const name = shown.toLowerCase().replaceAll('"', '').replace(/\s+/g, '_');
  const value = parameters.get(name === 'time_zone' ? 'timezone' : name);
  return value === undefined ? undefined : { tag: 'SHOW', value: { name, text: value } };
}

/** Column of a parameter that SHOW returns. */
export function shownColumn(name: string) {
  return { name, type: 'VARCHAR', postgresTypeId: POSTGRES_TYPE_TEXT };
}
