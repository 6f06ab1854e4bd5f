import type { DuckDBConnection } from '@duckdb/node-api';
import { StatementFailure } from './failure.js';
import { FUNCTIONS, TABLE_FUNCTIONS } from './functions.js';

/*
 * Decides which statements an engine executes: one reading statement, parsed by the engine itself. The engine's own
 * locks protect files, settings and extensions. This gate protects what the engine does not lock: other databases in
 * memory, logging, profiling, views of the engine's settings, and every function that is not in functions.ts.
 */

const REFUSED_TABLE = /^(duckdb_.*|pragma_.*|sqlite_.*|pg_settings|pg_prepared_statements)$/;
/** DuckDB would open a table name with one of these characters as a file. */
const FILE_LIKE = /[/\\.*?:]/;
const QUERY_NODES = new Set(['SELECT_NODE', 'SET_OPERATION_NODE', 'RECURSIVE_CTE_NODE', 'CTE_NODE']);
const EXPLAIN = /^\s*explain\s+(analyze\s+)?(?=\S)/i;

interface Serialized {
  readonly error: boolean;
  readonly error_type?: string;
  readonly error_message?: string;
  readonly statements?: readonly unknown[];
}

/**
 * Accepts one reading statement. Returns false if the text has no statement.
 * Errors  StatementFailure `invalid` if the text is not SQL, `refused` if the statement does more than read the
 *         snapshot
 */
export async function requireReading(sql: string, gate: DuckDBConnection): Promise<boolean> {
  const { statements = [] } = await parse(sql.replace(EXPLAIN, ''), gate);
  if (statements.length > 1) {
    throw new StatementFailure('refused', `One statement is executed at a time; got ${statements.length}.`);
  }
  for (const statement of statements) refuseStrangers(statement);
  return statements.length === 1;
}

async function parse(sql: string, gate: DuckDBConnection): Promise<Serialized> {
  const reader = await gate.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql]);
  const parsed = readTree(String(reader.value(0, 0)));
  if (!parsed.error) return parsed;
  if (parsed.error_type === 'not implemented') {
    throw new StatementFailure('refused', 'Only reading statements are executed, such as SELECT.');
  }
  throw new StatementFailure('invalid', parsed.error_message ?? 'The statement cannot be parsed.');
}

function readTree(json: string): Serialized {
  try {
    return JSON.parse(json) as Serialized;
  } catch {
    // DuckDB writes a literal beyond the range of a double as Infinity, which JSON does not have.
    throw new StatementFailure(
      'invalid',
      `A number is out of range: it is at most ${Number.MAX_VALUE} in size.`,
    );
  }
}

type Node = Readonly<Record<string, unknown>>;

/** Visits every node of the tree. The visit is not recursive, so that nesting cannot overflow the stack. */
function refuseStrangers(statement: unknown): void {
  const waiting: unknown[] = [statement];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (!Array.isArray(next)) refuseStranger(next as Node);
    for (const value of Object.values(next)) waiting.push(value);
  }
}

function refuseStranger(node: Node): void {
  const { type } = node;
  const name = (member: string): string => String(node[member] ?? '').toLowerCase();
  if (typeof type === 'string' && type.endsWith('_NODE') && !QUERY_NODES.has(type)) {
    throw new StatementFailure('refused', 'Only reading statements are executed, such as SELECT.');
  }
  if (type === 'TABLE_FUNCTION') {
    const table = String((node.function as Node | undefined)?.function_name ?? '').toLowerCase();
    if (!TABLE_FUNCTIONS.has(table)) {
      throw new StatementFailure('refused', `Statements cannot call the table function "${table}".`);
    }
  }
  const called = name('function_name');
  if (called !== '' && !FUNCTIONS.has(called)) {
    throw new StatementFailure('refused', `Statements cannot call the function "${called}".`);
  }
  const table = name('table_name');
  if (type === 'BASE_TABLE' && (REFUSED_TABLE.test(table) || FILE_LIKE.test(table))) {
    throw new StatementFailure('refused', `Statements cannot read the table "${table}".`);
  }
}
