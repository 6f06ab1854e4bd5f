import type { SqlCredentials } from '../../services/sql/credentials.js';
import type { Sql } from '../../services/sql/sql.js';
import type { HandlersOf } from './handler.js';

export interface SqlServices {
  readonly sql: Sql;
  readonly sqlCredentials: SqlCredentials;
}

export function sqlHandlers({ sql }: Pick<SqlServices, 'sql'>): HandlersOf<'sql'> {
  return {
    'sql.query': ({ body, mediaType, headers }, context) =>
      sql.query(body, mediaType, headers['Idempotency-Key'] !== undefined, context),
  };
}

export function sqlCredentialHandlers({
  sqlCredentials: credentials,
}: Pick<SqlServices, 'sqlCredentials'>): HandlersOf<'sql_credentials'> {
  return {
    'sql_credentials.create': ({ body }, context) => credentials.create(body, context),
    'sql_credentials.list': async ({ query }, context) => credentials.list(query, context),
    'sql_credentials.rotate': ({ params }, context) => credentials.rotate(params.credential_id, context),
    'sql_credentials.revoke': ({ params }, context) => credentials.revoke(params.credential_id, context),
  };
}
