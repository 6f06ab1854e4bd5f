import { Type, type Static } from '@sinclair/typebox';
import {
  SQL_CREDENTIALS_MAX_COUNT,
  SQL_JSON_MAX_ROWS,
  SQL_PARAMETERS_MAX_COUNT,
  SQL_STATEMENT_MAX_CHARACTERS,
  SQL_TIMEOUT_MAX_SECONDS,
} from '../limits.js';
import { envelopeOf, listOf } from './grammar/envelope.js';
import { defineRoute } from './grammar/route.js';
import { closed, constant, count, defaulted, flag, moment, named, text } from './grammar/schema.js';

/** Media type of a result as an Arrow IPC stream. */
export const ARROW_STREAM_TYPE = 'application/vnd.apache.arrow.stream';

const CredentialId = text('SQL credential id.', { minLength: 1, maxLength: 64 });

export const SqlCredential = named(
  'SqlCredential',
  closed(
    {
      object: constant('sql_credential'),
      id: CredentialId,
      name: text('Your name of it.'),
      username: text('User name at both doors: HTTP basic authentication and the PostgreSQL protocol.'),
      reader_role: text('What it may do: `gloaming_reader` reads, and nothing else.'),
      environment_id: text('Environment that it opens; an appliance has one.'),
      organization_id: text('Organization whose rows it sees.'),
      is_active: flag('False from its revocation on.'),
      created_at: moment('When it was created.'),
      description: Type.Optional(text('Your words about it.')),
      last_rotated_at: Type.Optional(moment('When it last got a new password.')),
      revoked_at: Type.Optional(moment('When it was revoked.')),
    },
    { description: 'Opens the SQL engine over the rows of one organization, read-only.' },
  ),
);

export const SqlCredentialSecret = named(
  'SqlCredentialSecret',
  closed(
    {
      sql_engine_user: text('User name of the engine.'),
      password: text('Shown this once; only a hash of it is kept.'),
      sql_credential: SqlCredential,
    },
    { chosen: true },
  ),
);

export const SqlCredentialRevocation = named(
  'SqlCredentialRevocation',
  closed({
    sql_engine_user: text('User name of the engine.'),
    revoked: flag('True: it opens nothing any more, and what it had opened is ended.'),
    sql_credential: SqlCredential,
  }),
);

export const SqlCredentialRequest = named(
  'SqlCredentialRequest',
  closed(
    {
      name: text('Your name of it.', { minLength: 1, maxLength: 128 }),
      description: Type.Optional(text('Your words about it.', { maxLength: 256 })),
    },
    { chosen: true },
  ),
);

const params = Type.Object({ credential_id: CredentialId }, { additionalProperties: false });
const shared = {
  tag: 'sql',
  successStyle: 'envelope',
  errorStyle: 'envelope',
  work: 'light',
} as const;
const secret = envelopeOf('SqlCredentialSecretEnvelope', SqlCredentialSecret);

export const createSqlCredential = defineRoute({
  ...shared,
  operationId: 'sql_credentials.create',
  method: 'POST',
  retry: 'stored',
  path: '/v1/sql-credentials',
  summary: 'Create a SQL credential',
  description:
    'A user name and a password that open the SQL engine. ' +
    `An organization has ${SQL_CREDENTIALS_MAX_COUNT} active ones at most.`,
  body: SqlCredentialRequest,
  success: { status: 201, schema: secret, description: 'The credential with its password.' },
  refusals: ['sql_credentials_full'],
});

export const listSqlCredentials = defineRoute({
  ...shared,
  operationId: 'sql_credentials.list',
  method: 'GET',
  path: '/v1/sql-credentials',
  summary: 'List SQL credentials',
  description: 'Credentials of the organization, revoked ones included, the oldest first.',
  query: Type.Object(
    {
      limit: defaulted(
        20,
        Type.Integer({ minimum: 1, maximum: 100, description: 'Rows of a page at most.' }),
      ),
      cursor: Type.Optional(
        Type.String({ minLength: 1, maxLength: 1024, description: '`next_cursor` of the page before.' }),
      ),
    },
    { additionalProperties: false },
  ),
  success: { status: 200, schema: listOf('SqlCredentialList', SqlCredential), description: 'One page.' },
  successStyle: 'bare',
  refusals: ['cursor_invalid'],
});

export const rotateSqlCredential = defineRoute({
  ...shared,
  operationId: 'sql_credentials.rotate',
  method: 'POST',
  retry: 'stored',
  path: '/v1/sql-credentials/{credential_id}/rotate',
  summary: 'Give a SQL credential a new password',
  description: 'The password before it opens nothing any more, and sessions that it opened are ended.',
  params,
  success: { status: 200, schema: secret, description: 'The credential with its new password.' },
  refusals: ['sql_credential_not_found', 'sql_credential_revoked', 'permission_denied'],
});

export const revokeSqlCredential = defineRoute({
  ...shared,
  operationId: 'sql_credentials.revoke',
  method: 'DELETE',
  path: '/v1/sql-credentials/{credential_id}',
  summary: 'Revoke a SQL credential',
  description:
    'Ends it for good: its sessions are closed and its running statements ended within a second. Repeating it is ' +
    'refused as not found, with a code of its own.',
  params,
  success: {
    status: 200,
    schema: envelopeOf('SqlCredentialRevocationEnvelope', SqlCredentialRevocation),
    description: 'The revoked credential.',
  },
  refusals: ['sql_credential_not_found', 'sql_credential_revoked', 'permission_denied'],
});

const Parameter = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

export const SqlQueryRequest = named(
  'SqlQueryRequest',
  closed(
    {
      sql: text('One SELECT statement (or VALUES, FROM, SHOW, DESCRIBE, SUMMARIZE, EXPLAIN) of DuckDB.', {
        minLength: 1,
        maxLength: SQL_STATEMENT_MAX_CHARACTERS,
      }),
      parameters: Type.Optional(
        Type.Array(Parameter, {
          maxItems: SQL_PARAMETERS_MAX_COUNT,
          description: 'Values of `$1`, `$2` and so on.',
        }),
      ),
      limit: defaulted(
        1_000,
        Type.Integer({
          minimum: 1,
          maximum: SQL_JSON_MAX_ROWS,
          description: 'Rows of a JSON answer at most; an Arrow answer has all rows.',
        }),
      ),
      timeout_seconds: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: SQL_TIMEOUT_MAX_SECONDS,
          description: 'Time for the statement, where it is shorter than the server’s own.',
        }),
      ),
    },
    { chosen: true },
  ),
);

const SqlColumn = closed({
  name: text('Name.'),
  type: text('Type, as DuckDB writes it.'),
});

export const SqlResult = named(
  'SqlResult',
  closed(
    {
      object: constant('sql_result'),
      columns: Type.Array(SqlColumn, { description: 'Columns in order.' }),
      rows: Type.Array(Type.Array(Type.Unknown()), {
        description:
          'Values by column. Integers beyond ±(2⁵³ − 1), decimals, times and numbers that are not finite are text.',
      }),
      row_count: count('Rows given.'),
      is_row_limit_reached: flag('True where the result has more rows than `limit`.'),
    },
    { chosen: true },
  ),
);

export const querySql = defineRoute({
  ...shared,
  operationId: 'sql.query',
  method: 'POST',
  retry: 'same',
  path: '/v1/sql/query',
  summary: 'Execute a SQL statement',
  description:
    'Reads the organization’s world: `databases`, `releases`, `targets`, `attributes` and `neighbours` of the ' +
    'releases that it may see, `runs`, `candidates` of retained runs and `usage`; besides, a schema for each ' +
    'database whose `targets` has the attributes as columns. `SHOW ALL TABLES` lists them. Runs and usage are ' +
    'those of a moment ago. ' +
    `With \`Accept: ${ARROW_STREAM_TYPE}\` the rows come as an Arrow IPC stream; under an Idempotency-Key ` +
    'it is kept as any answer is, and has 16 MiB at most.',
  access: 'sql_credential',
  body: SqlQueryRequest,
  success: {
    status: 200,
    schema: envelopeOf('SqlResultEnvelope', SqlResult),
    description: 'The rows.',
    otherMediaType: ARROW_STREAM_TYPE,
  },
  refusals: [
    'sql_statement_invalid',
    'sql_statement_refused',
    'sql_statement_timeout',
    'sql_resources_exceeded',
    'sql_busy',
    'sql_engine_failed',
    'response_too_large',
  ],
});

export type SqlCredential = Static<typeof SqlCredential>;
export type SqlCredentialSecret = Static<typeof SqlCredentialSecret>;
export type SqlCredentialRevocation = Static<typeof SqlCredentialRevocation>;
export type SqlCredentialRequest = Static<typeof SqlCredentialRequest>;
export type SqlQueryRequest = Static<typeof SqlQueryRequest>;
export type SqlResult = Static<typeof SqlResult>;
