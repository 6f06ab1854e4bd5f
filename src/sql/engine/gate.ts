import type { DuckDBConnection } from '@duckdb/node-api';
import { StatementFailure } from './failure.js';
import { FUNCTIONS, TABLE_FUNCTIONS } from './functions.js';

/*
 * Allows only single statements that read, as parsed by the engine itself. The engine locks files, settings and
 * extensions. This check refuses what the engine does not lock: other databases in memory, logging and profiling, views
 * of the engine's settings, and functions that are not in functions.ts.
 */

const REFUSED_TABLE = /^(duckdb_.*|pragma_.*|sqlite_.*|pg_settings|pg_prepared_statements)$/;
/** The engine would read a file of this name. */
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
 * Checks a text. Returns whether it contains a statement.
 * Errors  StatementFailure `invalid` for a syntax error, `refused` for anything but one statement that reads allowed
 *         tables and functions; those of the engine
 */
export async function requireReading(sql: string, gate: DuckDBConnection): Promise<boolean> {
  const { statements = [] } = await parse(sql.replace(EXPLAIN, ''), gate);
  if (statements.length > 1) {
    throw new StatementFailure('refused', `One statement is executed at a time; ${statements.length} came.`);
  }
  for (const statement of statements) checkTree(statement);
  return statements.length === 1;
}

async function parse(sql: string, gate: DuckDBConnection): Promise<Serialized> {
  const reader = await gate.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql]);
  const parsed = JSON.parse(String(reader.value(0, 0))) as Serialized;
  if (!parsed.error) return parsed;
  if (parsed.error_type === 'not implemented') {
    throw new StatementFailure('refused', 'Only statements that read are executed: SELECT and its kin.');
  }
  throw new StatementFailure('invalid', parsed.error_message ?? 'The statement cannot be parsed.');
}

type Node = Readonly<Record<string, unknown>>;

/** Checks every node of a syntax tree, without recursion because of deep nesting. */
function checkTree(statement: unknown): void {
  const waiting: unknown[] = [statement];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (!Array.isArray(next)) checkNode(next as Node);
    for (const value of Object.values(next)) waiting.push(value);
  }
}

function checkNode(node: Node): void {
  const { type } = node;
  const name = (member: string): string => String(node[member] ?? '').toLowerCase();
  if (typeof type === 'string' && type.endsWith('_NODE') && !QUERY_NODES.has(type)) {
    throw new StatementFailure('refused', 'Only statements that read are executed: SELECT and its kin.');
  }
  if (type === 'TABLE_FUNCTION') {
    const table = String((node.function as Node | undefined)?.function_name ?? '').toLowerCase();
    if (!TABLE_FUNCTIONS.has(table)) {
      throw new StatementFailure('refused', `There is no table function "${table}" for statements.`);
    }
  }
  const called = name('function_name');
  if (called !== '' && !FUNCTIONS.has(called)) {
    throw new StatementFailure('refused', `There is no function "${called}" for statements.`);
  }
  const table = name('table_name');
  if (type === 'BASE_TABLE' && (REFUSED_TABLE.test(table) || FILE_LIKE.test(table))) {
    throw new StatementFailure('refused', `The table "${table}" is not for statements.`);
  }
}
