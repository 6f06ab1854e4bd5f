import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { closest } from 'fastest-levenshtein';
import { Refusal } from './errors.js';
import { GIBIBYTE_BYTES, MEBIBYTE_BYTES } from './limits.js';
import { memoryOfProcess } from './processes.js';
import type { SettingsFile } from './settings-file.js';

/** Settings of one appliance; all folders are absolute. */
export interface ApplianceConfig {
  /** The installed package: shipped encoders, config/, README. */
  readonly packageFolder: string;
  readonly indexesFolder: string;
  readonly dataFolder: string;
  readonly host: string;
  readonly port: number;
  /** `http://…` or `https://…`, optionally with a path, without a trailing slash; absent = the listening address. */
  readonly publicUrl?: string;
  /** Addresses and networks of proxies whose X-Forwarded headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** Header in which a trusted proxy names signed-in users of the console; absent = no proxy signs users in. */
  readonly userHeader?: UserHeader;
  /** PEM files; absent = plain HTTP. */
  readonly tls?: { readonly certificateFile: string; readonly keyFile: string };
  /** Encoder id of new releases. */
  readonly encoder: string;
  /** Device of the kernels. */
  readonly device: 'auto' | 'cpu' | 'cuda' | 'tensorflow';
  /** Effect of a failing GPU on a search. */
  readonly onDeviceError: 'fail' | 'retry_on_cpu';
  readonly encoderDevice: 'cpu' | 'cuda';
  /** Effect of tokens that differ from those of the CPU. */
  readonly onEncoderDifference: 'fail' | 'accept';
  /** 1..256. */
  readonly threads: number;
  /** Memory for databases. Unit: bytes. */
  readonly memoryBytes: number;
  readonly concurrentSearches: number;
  readonly queuedSearches: number;
  readonly searchesPerKey: number;
  readonly requestsPerMinute: number;
  /** Storage limit of one organization. Unit: bytes. */
  readonly storageQuotaBytes: number;
  /** Free disk space that storage leaves. Unit: bytes. */
  readonly storageReserveBytes: number;
  /** Total budget by organization, in the currency of the prices; no entry = no limit. */
  readonly budgets: Readonly<Record<string, string>>;
  /** Memory and threads of the SQL engine of one organization, and the time limit of one statement. */
  readonly sqlMemoryBytes: number;
  readonly sqlThreads: number;
  readonly sqlTimeoutMs: number;
  /** Port of the PostgreSQL protocol; absent = not served. */
  readonly postgresPort?: number;
  readonly logLevel: string;
  /** Whether a file or the environment sets the log level. */
  readonly isLogLevelSet: boolean;
  /** Whether visitors may search in the console without signing in. They can never manage. */
  readonly isConsoleOpen: boolean;
  /** Origins whose pages may use the contract from a browser, in the spelling of browsers. */
  readonly corsOrigins: readonly string[];
  /** Private networks that may contain webhook receivers, such as `10.1.0.0/16`. */
  readonly webhookNetworks: readonly string[];
  /** Absent = this appliance scans all targets itself. */
  readonly workers?: WorkerSettings;
  /** Whether this appliance scans partitions for other appliances. */
  readonly servesParts: boolean;
  /** Absent = the run endpoint `structure.predict` refuses. */
  readonly structurePredictor?: StructurePredictor;
  /** Absent = ColabFold's MSA interface is not served. */
  readonly colabfold?: ColabfoldSettings;
}

/** Users that a trusted proxy signs in, and their rights. */
export interface UserHeader {
  /** Name of the header, in lower case. */
  readonly name: string;
  readonly organizationId: string;
  readonly scope: 'search' | 'submit' | 'manage';
  readonly operators: readonly string[];
}

/** ColabFold's MSA interface. */
export interface ColabfoldSettings {
  /** URL path, without a trailing slash. */
  readonly path: string;
  /** Slug or id of the database for `uniref.a3m` and `pair.a3m`. */
  readonly database: string;
  /** Database of the environmental file; absent = the file contains only the queries. */
  readonly environmentalDatabase?: string;
  /** Highest E-value of a row; null = rows without an E-value are accepted. */
  readonly maxEvalue: number | null;
  /** Lowest query coverage of a row: aligned query residues ÷ query length. Range 0..1. */
  readonly minCoverage: number;
  /** Candidates of a search, and homologs of a round, 1..10,000. */
  readonly maxSequences: number;
  /** Whether homologs from the homolog source of a database are rows, too. */
  readonly hasBackgroundRows: boolean;
  /** Searches of a database for the rows of a sequence, 1..MSA_MAX_ROUNDS. */
  readonly rounds: number;
  /** Name of a homolog source that gives rows, too; absent = none. */
  readonly homologSource?: string;
  /** Header that may contain the API key, in lower case. */
  readonly keyHeader: string;
  /** Organization of requests without an API key from this machine; absent = such requests are refused. */
  readonly anonymousOrganization?: string;
}

/** Other appliances that scan partitions of the targets. */
export interface WorkerSettings {
  readonly nodes: readonly WorkerNode[];
  /** Number of partitions of a release; at least one node holds each. */
  readonly partCount: number;
  /** Effect of a partition that no node answers for. */
  readonly onError: 'fail' | 'serve_locally';
  /** Time limit of one node for one partition. */
  readonly timeoutMs: number;
  /** Slugs of the databases whose releases the nodes have; absent = all. */
  readonly databases?: readonly string[];
}

/** One worker. */
export interface WorkerNode {
  /** `https://…`, or `http://` on this machine, without a trailing slash. */
  readonly url: string;
  /** File with the API key. */
  readonly keyFile: string;
  /** PEM file of the authority of its certificate; absent = the authorities of Node. */
  readonly authorityFile?: string;
  /** Partitions that it scans, from 1 on. */
  readonly parts: readonly number[];
}

/** Program that predicts a structure from an alignment. */
export interface StructurePredictor {
  /** Absolute path of a program. */
  readonly command: string;
  /** `{input}` is replaced by the path of the A3M file, `{output}` by the output folder. */
  readonly args: readonly string[];
  /** Variables added to PATH, HOME, TMPDIR and LANG. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly output: { readonly maxBytes: number; readonly maxFiles: number };
  /** Predictions that run at once. */
  readonly concurrency: number;
}

/** Default share of the process memory for databases. */
const MEMORY_SHARE = 0.75;

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the settings of the server and of every command. Defaults are in config/appliance.json. The file of
 * GLOAMING_CONFIG overrides them, and environment variables override the file.
 * Errors  Refusal `invalid_config` that names the setting and what it may be
 */
export function loadConfig(environment: Environment): ApplianceConfig {
  const packageFolder = findPackageFolder();
  const shipped = join(packageFolder, 'config', 'appliance.json');
  const chosen = environment.GLOAMING_CONFIG;
  const own = { ...(chosen === undefined ? {} : readJson(resolve(chosen))), ...fromEnvironment(environment) };
  const settings: Record<string, unknown> = { ...readJson(shipped), ...own };
  const file = validate<SettingsFile>(
    settings,
    readJson(join(packageFolder, 'config', 'appliance.schema.json')),
  );
  // Relative folders of the environment start at the working directory, those of a file at the package.
  const folder = (value: string, variable: string | undefined): string =>
    variable === undefined ? resolve(packageFolder, value) : resolve(value);
  return Object.freeze({
    packageFolder,
    indexesFolder: folder(file.indexes_folder, environment.GLOAMING_INDEXES),
    dataFolder: folder(file.data_folder, environment.GLOAMING_DATA),
    host: file.host,
    port: file.port,
    publicUrl: file.public_url?.replace(/\/$/, ''),
    trustedProxies: file.trusted_proxies,
    userHeader: userHeaderOf(file),
    tls: file.tls && {
      certificateFile: resolve(file.tls.certificate_file),
      keyFile: resolve(file.tls.key_file),
    },
    encoder: file.encoder,
    device: file.device,
    onDeviceError: file.on_device_error,
    encoderDevice: file.encoder_device,
    onEncoderDifference: file.on_encoder_difference,
    threads: file.threads === 0 ? Math.min(256, availableParallelism()) : file.threads,
    memoryBytes: file.memory_gib === 0 ? MEMORY_SHARE * memoryOfProcess() : file.memory_gib * GIBIBYTE_BYTES,
    concurrentSearches: file.concurrent_searches,
    queuedSearches: file.queued_searches,
    searchesPerKey: file.searches_per_key,
    requestsPerMinute: file.requests_per_minute,
    storageQuotaBytes: file.storage_quota_mib * MEBIBYTE_BYTES,
    storageReserveBytes: file.storage_reserve_mib * MEBIBYTE_BYTES,
    budgets: file.budgets,
    sqlMemoryBytes: file.sql_memory_mib * MEBIBYTE_BYTES,
    sqlThreads: file.sql_threads,
    sqlTimeoutMs: file.sql_timeout_seconds * 1000,
    postgresPort: file.postgres_port,
    logLevel: file.log_level,
    isLogLevelSet: 'log_level' in own,
    isConsoleOpen: file.console?.open ?? false,
    corsOrigins: originsOf(file),
    webhookNetworks: file.webhook_networks,
    workers: workersOf(file),
    servesParts: file.serve_parts,
    structurePredictor: predictorOf(file),
    colabfold: colabfoldOf(file),
  });
}

/** Errors  Refusal `invalid_config` without a trusted proxy, because any client could then set the header */
function userHeaderOf({
  user_header: header,
  trusted_proxies: proxies,
}: SettingsFile): UserHeader | undefined {
  if (header !== undefined && proxies.length === 0) {
    throw new Refusal('invalid_config', 'The configuration is not valid: user_header needs trusted_proxies.');
  }
  return (
    header && {
      name: header.name.toLowerCase(),
      organizationId: header.organization,
      scope: header.scope,
      operators: header.operators,
    }
  );
}

/**
 * Browsers compare origins letter by letter, so that another spelling never matches.
 * Errors  Refusal `invalid_config` for an origin in another spelling
 */
function originsOf({ cors_origins: origins }: SettingsFile): readonly string[] {
  for (const origin of origins) {
    const written = URL.canParse(origin) ? new URL(origin).origin : 'http://lab.example:3000';
    if (written === origin) continue;
    throw new Refusal(
      'invalid_config',
      `The configuration is not valid: cors_origins has ${JSON.stringify(origin)}; browsers write ${written}.`,
    );
  }
  return origins;
}

function colabfoldOf({ colabfold }: SettingsFile): ColabfoldSettings | undefined {
  return (
    colabfold && {
      path: colabfold.path,
      database: colabfold.database,
      environmentalDatabase: colabfold.environmental_database,
      maxEvalue: colabfold.max_evalue,
      minCoverage: colabfold.min_coverage,
      maxSequences: colabfold.max_sequences,
      hasBackgroundRows: colabfold.background_rows,
      rounds: colabfold.rounds,
      homologSource: colabfold.homolog_source,
      keyHeader: colabfold.key_header.toLowerCase(),
      anonymousOrganization: colabfold.anonymous_organization,
    }
  );
}

function predictorOf({ structure_predictor: predictor }: SettingsFile): StructurePredictor | undefined {
  return (
    predictor && {
      command: predictor.command,
      args: predictor.args,
      environment: predictor.environment,
      timeoutMs: predictor.timeout_seconds * 1000,
      output: {
        maxBytes: predictor.output_max_mib * MEBIBYTE_BYTES,
        maxFiles: predictor.output_max_files,
      },
      concurrency: predictor.concurrent_predictions,
    }
  );
}

/** Errors  Refusal `invalid_config` for a partition without a worker */
function workersOf(file: SettingsFile): WorkerSettings | undefined {
  if (file.workers.length === 0) return undefined;
  const held = new Set(file.workers.flatMap(({ parts }) => parts));
  const partCount = Math.max(...held);
  const missing = Array.from({ length: partCount }, (_, part) => part + 1).find((part) => !held.has(part));
  if (missing !== undefined) {
    throw new Refusal(
      'invalid_config',
      `The configuration is not valid: workers has ${partCount} parts, and no worker holds part ${missing}.`,
    );
  }
  return {
    nodes: file.workers.map(({ url, key_file: keyFile, authority_file: authorityFile, parts }) => ({
      url: url.replace(/\/$/, ''),
      keyFile: resolve(keyFile),
      ...(authorityFile !== undefined && { authorityFile: resolve(authorityFile) }),
      parts,
    })),
    partCount,
    onError: file.on_worker_error,
    timeoutMs: file.worker_timeout_seconds * 1000,
    databases: file.forwarded_databases,
  };
}

function fromEnvironment(environment: Environment): Record<string, unknown> {
  const text = {
    indexes_folder: environment.GLOAMING_INDEXES,
    data_folder: environment.GLOAMING_DATA,
    host: environment.GLOAMING_HOST,
    public_url: environment.GLOAMING_PUBLIC_URL,
    encoder: environment.GLOAMING_ENCODER,
    device: environment.GLOAMING_DEVICE,
    log_level: environment.GLOAMING_LOG_LEVEL,
    webhook_networks: environment.GLOAMING_WEBHOOK_NETWORKS?.split(',').filter(Boolean),
    trusted_proxies: environment.GLOAMING_TRUSTED_PROXIES?.split(',').filter(Boolean),
  };
  const numbers = {
    port: environment.GLOAMING_PORT,
    postgres_port: environment.GLOAMING_POSTGRES_PORT,
    threads: environment.GLOAMING_THREADS,
    memory_gib: environment.GLOAMING_MEMORY_GIB,
  };
  const { GLOAMING_TLS_CERTIFICATE: certificate_file, GLOAMING_TLS_KEY: key_file } = environment;
  const hasTls = certificate_file !== undefined || key_file !== undefined;
  return {
    ...(hasTls && { tls: { certificate_file, key_file } }),
    ...Object.fromEntries(Object.entries(text).filter(([, value]) => value !== undefined)),
    ...Object.fromEntries(
      Object.entries(numbers)
        .filter(([, value]) => value !== undefined)
        // Other text stays text, so that validation refuses it.
        .map(([name, value]) => [name, /^\d+$/.test(value ?? '') ? Number(value) : value]),
    ),
  };
}

/** Prices of `config/prices.json`. */
export interface Prices {
  /** ISO 4217 code. */
  readonly currency: string;
  /** Price of one unit by endpoint, in decimal notation. */
  readonly unit_prices: Readonly<Record<string, string>>;
}

/** Errors  Refusal `invalid_config` that names the price and what it may be */
export function loadPrices(packageFolder: string): Prices {
  const read = (file: string): Record<string, unknown> => readJson(join(packageFolder, 'config', file));
  return validate<Prices>(read('prices.json'), read('prices.schema.json'));
}

function validate<Settings>(settings: Record<string, unknown>, schema: Record<string, unknown>): Settings {
  const check = new Ajv2020({ allErrors: true, verbose: true, useDefaults: true }).compile(schema);
  if (check(settings)) return settings as Settings;
  const faults = (check.errors ?? []).map((error) => faultOf(error));
  throw new Refusal(
    'invalid_config',
    `The configuration is not valid: ${faults.join('; ')}.`.replace(/\?\.$/, '?'),
  );
}

/** @param error  error of Ajv with `verbose`, which contains the schema of the invalid value */
function faultOf({ instancePath, keyword, message, params, parentSchema }: ErrorObject): string {
  const place = instancePath.slice(1).replaceAll('/', '.');
  if (keyword === 'additionalProperties') {
    const name = String(params.additionalProperty);
    const keys = Object.keys((parentSchema?.properties ?? {}) as Record<string, unknown>);
    return `"${place === '' ? '' : `${place}.`}${name}" is no setting; did you mean "${closest(name, keys)}"?`;
  }
  const allowed = keyword === 'enum' ? `: ${(params.allowedValues as readonly unknown[]).join(', ')}` : '';
  return `${place === '' ? 'the settings' : place} ${message ?? 'is invalid'}${allowed}`;
}

function readJson(path: string): Record<string, unknown> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  } catch (cause) {
    const { message } = cause as Error;
    throw new Refusal('invalid_config', `The configuration file ${path} cannot be read: ${message}.`);
  }
}

function findPackageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    try {
      const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: string };
      if (name === 'gloaming') return folder;
    } catch {
      // No package.json here: look one folder up.
    }
    const parent = dirname(folder);
    if (parent === folder) throw new Refusal('invalid_config', 'The gloaming package folder was not found.');
    folder = parent;
  }
}
