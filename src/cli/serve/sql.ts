import type { Logger } from 'pino';
import { Counter, Histogram } from 'prom-client';
import type { Metrics } from '../../http/pages/metrics.js';
import type { SqlListeners } from '../../services/sql/sql.js';

/** Characters of a statement in its line of the audit log. */
const LOGGED_MAX_CHARACTERS = 2_000;

/** Writes one log line and one count for each SQL statement. Passwords and parameters are never logged. */
export function sqlListeners(log: Logger, { registry }: Metrics): SqlListeners {
  const statements = new Counter({
    name: 'gloaming_sql_statements_total',
    help: 'SQL statements that have ended, by door and outcome.',
    labelNames: ['door', 'outcome'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'gloaming_sql_statement_duration_seconds',
    help: 'Time from the arrival of a SQL statement to its last row.',
    labelNames: ['door'],
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100],
    registers: [registry],
  });
  return {
    onStatement({ door, organizationId, credentialId, sql, outcome, rowCount, durationMs }) {
      statements.inc({ door, outcome });
      durations.observe({ door }, durationMs / 1000);
      log.info(
        {
          door,
          organization_id: organizationId,
          credential_id: credentialId,
          sql: sql.slice(0, LOGGED_MAX_CHARACTERS),
          sql_length: sql.length,
          outcome,
          row_count: rowCount,
          duration_ms: Math.round(durationMs),
        },
        'sql statement',
      );
    },
    onFault: (error) => log.error({ err: error }, 'A copy of a release for SQL could not be written.'),
  };
}
