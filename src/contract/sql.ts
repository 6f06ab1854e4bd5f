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
      name: text('Name of the credential, chosen by the client.'),
      username: text('User name for HTTP basic authentication and for the PostgreSQL protocol.'),
      reader_role: text('Role of the credential. `gloaming_reader` may only read.'),
      environment_id: text(
        'Environment to which the credential gives access. An appliance has one environment.',
      ),
      organization_id: text('Organization whose data the credential can read.'),
      is_active: flag('True until the credential is revoked.'),
      created_at: moment('Time when the credential was created.'),
      description: Type.Optional(text('Description of the credential, chosen by the client.')),
      last_rotated_at: Type.Optional(moment('Time of the last rotation of the password.')),
      revoked_at: Type.Optional(moment('Time when the credential was revoked.')),
    },
    { description: 'Credential for read-only SQL access to the data of one organization.' },
  ),
);

export const SqlCredentialSecret = named(
  'SqlCredentialSecret',
  closed(
    {
      sql_engine_user: text('User name of the SQL engine.'),
      password: text('Password. Only this response contains it, because the server keeps only a hash.'),
      sql_credential: SqlCredential,
    },
    { chosen: true },
  ),
);

export const SqlCredentialRevocation = named(
  'SqlCredentialRevocation',
  closed({
    sql_engine_user: text('User name of the SQL engine.'),
    revoked: flag('True. The credential gives no access, and its sessions and statements are ended.'),
    sql_credential: SqlCredential,
  }),
);

export const SqlCredentialRequest = named(
  'SqlCredentialRequest',
  closed(
    {
      name: text('Name of the credential, chosen by the client.', { minLength: 1, maxLength: 128 }),
      description: Type.Optional(
        text('Description of the credential, chosen by the client.', { maxLength: 256 }),
      ),
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
    'Creates a user name and a password for the SQL engine. An organization has at most ' +
    `${SQL_CREDENTIALS_MAX_COUNT} active credentials.`,
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
  description: 'Returns the credentials of the organization, including revoked ones, oldest first.',
  query: Type.Object(
    {
      limit: defaulted(
        20,
        Type.Integer({ minimum: 1, maximum: 100, description: 'Maximum number of rows in a page.' }),
      ),
      cursor: Type.Optional(
        Type.String({ minLength: 1, maxLength: 1024, description: '`next_cursor` of the previous page.' }),
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
  description: 'Creates a new password. The previous password becomes invalid, and its sessions are ended.',
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
    'Revokes a credential permanently. Its sessions and running statements end within a second. A ' +
    'repeated revocation gets 404 with the code `sql_credential_revoked`.',
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
      sql: text('One DuckDB statement: SELECT, VALUES, FROM, SHOW, DESCRIBE, SUMMARIZE or EXPLAIN.', {
        minLength: 1,
        maxLength: SQL_STATEMENT_MAX_CHARACTERS,
      }),
      parameters: Type.Optional(
        Type.Array(Parameter, {
          maxItems: SQL_PARAMETERS_MAX_COUNT,
          description: 'Values of the parameters `$1`, `$2` and so on.',
        }),
      ),
      limit: defaulted(
        1_000,
        Type.Integer({
          minimum: 1,
          maximum: SQL_JSON_MAX_ROWS,
          description: 'Maximum number of rows in a JSON response. An Arrow response has all rows.',
        }),
      ),
      timeout_seconds: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: SQL_TIMEOUT_MAX_SECONDS,
          description:
            'Time limit of the statement in seconds. A limit above that of the server has no effect.',
        }),
      ),
    },
    { chosen: true },
  ),
);

const SqlColumn = closed({
  name: text('Name of the column.'),
  type: text('DuckDB type of the column.'),
});

export const SqlResult = named(
  'SqlResult',
  closed(
    {
      object: constant('sql_result'),
      columns: Type.Array(SqlColumn, { description: 'Columns in order.' }),
      rows: Type.Array(Type.Array(Type.Unknown()), {
        description:
          'Rows, each with its values in the order of `columns`. Integers beyond ±(2⁵³ − 1), decimals, ' +
          'times and numbers that are not finite are strings.',
      }),
      row_count: count('Number of rows in the response.'),
      is_row_limit_reached: flag('True if the result has more rows than `limit`.'),
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
    'Executes one read-only statement on the tables of the organization. `databases`, `releases`, ' +
    '`targets`, `attributes` and `neighbours` have the releases to which the organization has access. ' +
    '`runs`, `candidates` (of retained runs) and `usage` have the records of the organization, which ' +
    'may be some seconds old. Each database also has a schema of its own, whose table `targets` has ' +
    'the attributes as columns. `SHOW ALL TABLES` lists all tables. ' +
    `With \`Accept: ${ARROW_STREAM_TYPE}\` the response is an Arrow IPC stream. ` +
    'With an `Idempotency-Key`, the stream is stored and has at most 16 MiB.',
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
