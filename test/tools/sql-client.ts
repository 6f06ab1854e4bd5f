import type { SmallAppliance } from './small-appliance.js';

/** A SQL credential with its password. */
export interface TestCredential {
  readonly id: string;
  readonly user: string;
  readonly password: string;
  readonly apiKey: string;
}

export async function createCredential(
  { url }: Pick<SmallAppliance, 'url'>,
  apiKey: string,
): Promise<TestCredential> {
  const response = await fetch(`${url}/v1/sql-credentials`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'notebook' }),
  });
  const { data } = (await response.json()) as {
    readonly data: {
      readonly sql_engine_user: string;
      readonly password: string;
      readonly sql_credential: { readonly id: string };
    };
  };
  return { id: data.sql_credential.id, user: data.sql_engine_user, password: data.password, apiKey };
}

/** Sends a statement to the HTTP interface, as curl -u does. */
export function postSql(
  { url }: Pick<SmallAppliance, 'url'>,
  { user, password }: Pick<TestCredential, 'user' | 'password'>,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const basic = Buffer.from(`${user}:${password}`).toString('base64');
  return fetch(`${url}/v1/sql/query`, {
    method: 'POST',
    headers: { Authorization: `Basic ${basic}`, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

export interface SqlAnswer {
  readonly status: number;
  readonly code: string | null;
  readonly message: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
  readonly isLimited: boolean;
}

export async function askSql(
  served: Pick<SmallAppliance, 'url'>,
  credential: Pick<TestCredential, 'user' | 'password'>,
  sql: string,
  more: object = {},
): Promise<SqlAnswer> {
  const response = await postSql(served, credential, { sql, ...more });
  const body = (await response.json()) as {
    readonly data?: {
      readonly columns: SqlAnswer['columns'];
      readonly rows: SqlAnswer['rows'];
      readonly is_row_limit_reached: boolean;
    };
    readonly detail?: string;
    readonly error?: { readonly message: string };
  };
  return {
    status: response.status,
    code: response.headers.get('service-error-type'),
    message: body.error?.message ?? body.detail ?? '',
    columns: body.data?.columns ?? [],
    rows: body.data?.rows ?? [],
    isLimited: body.data?.is_row_limit_reached ?? false,
  };
}
