/** Type id of text in the PostgreSQL protocol. */
export const POSTGRES_TYPE_TEXT = 25;

/** PostgreSQL version that clients see. Features that DuckDB lacks are refused in each statement. */
const SERVER_VERSION = '15.0';

/** Parameters that the server reports at login, by lower-case name. */
export type ServerParameters = ReadonlyMap<string, string>;

/** Spelled as in ParameterStatus. */
const REPORTED = [
  'server_version',
  'server_encoding',
  'client_encoding',
  'application_name',
  'is_superuser',
  'session_authorization',
  'DateStyle',
  'IntervalStyle',
  'TimeZone',
  'integer_datetimes',
  'standard_conforming_strings',
  'default_transaction_read_only',
  'in_hot_standby',
] as const;

export function serverParameters(user: string, applicationName: string): ServerParameters {
  return new Map([
    ['server_version', SERVER_VERSION],
    ['server_version_num', '150000'],
    ['server_encoding', 'UTF8'],
    ['client_encoding', 'UTF8'],
    ['application_name', applicationName],
    ['is_superuser', 'off'],
    ['session_authorization', user],
    ['datestyle', 'ISO, MDY'],
    ['intervalstyle', 'postgres'],
    ['timezone', 'UTC'],
    ['integer_datetimes', 'on'],
    ['standard_conforming_strings', 'on'],
    ['default_transaction_read_only', 'on'],
    ['in_hot_standby', 'off'],
    ['transaction_isolation', 'repeatable read'],
    ['transaction_isolation_level', 'repeatable read'],
    ['transaction_read_only', 'on'],
    ['search_path', 'main'],
    ['max_identifier_length', '63'],
    ['lc_collate', 'C'],
    ['lc_ctype', 'C'],
  ]);
}

/** Returns the parameters that every client receives at login. */
export function reportedParameters(parameters: ServerParameters): readonly (readonly [string, string])[] {
  return REPORTED.map((name) => [name, parameters.get(name.toLowerCase()) ?? '']);
}

/** Result of `version()`, in which clients look for the dialect. */
export function versionText(serverVersion: string): string {
  return `PostgreSQL ${SERVER_VERSION} (Gloaming ${serverVersion}, by DuckDB)`;
}
