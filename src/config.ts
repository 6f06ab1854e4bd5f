import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
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
  /** `http://…` or `https://…`, with a path or without, no slash at the end; absent = the address listened on. */
  readonly publicUrl?: string;
  /** Addresses and networks of proxies whose X-Forwarded headers count. */
  readonly trustedProxies: readonly string[];
  /** How a trusted proxy names whom it has signed in to the console; absent = it signs in nobody. */
  readonly userHeader?: UserHeader;
  /** PEM files; absent = plain HTTP. */
  readonly tls?: { readonly certificateFile: string; readonly keyFile: string };
  /** Encoder id of new releases. */
  readonly encoder: string;
  /** Where the kernels run. */
  readonly device: 'auto' | 'cpu' | 'cuda' | 'tensorflow';
  /** What a search does when a GPU fails. */
  readonly onDeviceError: 'fail' | 'retry_on_cpu';
  readonly encoderDevice: 'cpu' | 'cuda';
  /** What happens where the encoder's device gives other tokens than the CPU. */
  readonly onEncoderDifference: 'fail' | 'accept';
  /** 1..256. */
  readonly threads: number;
  /** Bytes of databases that stay in memory. */
  readonly memoryBytes: number;
  readonly concurrentSearches: number;
  readonly queuedSearches: number;
  readonly searchesPerKey: number;
  readonly requestsPerMinute: number;
  /** Bytes that one organization may keep in storage. */
  readonly storageQuotaBytes: number;
  /** Bytes of the disk that storage leaves free. */
  readonly storageReserveBytes: number;
  /** What an organization may spend in all, in the currency of the prices; absent = no bound. */
  readonly budgets: Readonly<Record<string, string>>;
  /** Memory of the SQL engine of one organization, its threads, and the time of one statement. */
  readonly sqlMemoryBytes: number;
  readonly sqlThreads: number;
  readonly sqlTimeoutMs: number;
  /** Where the PostgreSQL protocol is served; absent = nowhere. */
  readonly postgresPort?: number;
  readonly logLevel: string;
  /** The network may search in the console without having signed in; it may never manage. */
  readonly isConsoleOpen: boolean;
  /** Origins whose pages may use the contract from a browser, as browsers write them. */
  readonly corsOrigins: readonly string[];
  /** Private networks that webhook receivers may be in, such as `10.1.0.0/16`. */
  readonly webhookNetworks: readonly string[];
  /** Who looks at parts of the targets in our place; absent = nobody. */
  readonly workers?: WorkerSettings;
  /** Whether other appliances may have parts of releases looked at here. */
  readonly servesParts: boolean;
  /** Absent = the run endpoint `structure.predict` refuses. */
  readonly structurePredictor?: StructurePredictor;
  /** Absent = ColabFold's MSA interface is not served. */
  readonly colabfold?: ColabfoldSettings;
}

/** Whom a trusted proxy signs in, and as what. */
export interface UserHeader {
  /** In lower case. */
  readonly name: string;
  readonly organizationId: string;
  readonly scope: 'search' | 'submit' | 'manage';
  readonly operators: readonly string[];
}

/** How ColabFold's MSA interface is served. */
export interface ColabfoldSettings {
  /** Where, without a slash at the end. */
  readonly path: string;
  /** Slug or id of what `uniref.a3m` and `pair.a3m` are made of. */
  readonly database: string;
  /** Of what the environmental file is made; absent = it holds the queries alone. */
  readonly environmentalDatabase?: string;
  /** Greatest E-value of a row; null = rows need none. */
  readonly maxEvalue: number | null;
  /** Least aligned stretch of the query ÷ its length. */
  readonly minCoverage: number;
  /** Candidates of a search, and relatives of a round, 1..10,000. */
  readonly maxSequences: number;
  /** Whether relatives in the background of a database are rows, too. */
  readonly hasBackgroundRows: boolean;
  /** Header that may carry the API key, in lower case. */
  readonly keyHeader: string;
  /** Whom requests of this machine speak for that have no API key; absent = nobody. */
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

/** A command that predicts a structure from an alignment. */
export interface StructurePredictor {
  /** Absolute path of a program. */
  readonly command: string;
  /** `{input}` and `{output}` stand for the A3M file and for the folder that the program writes into. */
  readonly args: readonly string[];
  /** What it gets besides PATH, HOME, TMPDIR and LANG. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly output: { readonly maxBytes: number; readonly maxFiles: number };
  /** Predictions at once. */
  readonly concurrency: number;
}

/** What databases may take of the memory where nothing is set. */
const MEMORY_SHARE = 0.75;

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads config/appliance.json (or the file that GLOAMING_CONFIG names) and lets the environment move folders, address,
 * port, encoder, device, threads and log level, for the server and every command alike. A file needs only what it
 * changes.
 * Errors  Refusal `invalid_config` that names the setting and what it may be
 */
export function loadConfig(environment: Environment): ApplianceConfig {
  const packageFolder = findPackageFolder();
  const shipped = join(packageFolder, 'config', 'appliance.json');
  const chosen = environment.GLOAMING_CONFIG;
  const settings: Record<string, unknown> = {
    ...readJson(shipped),
    ...(chosen === undefined ? {} : readJson(resolve(chosen))),
    ...fromEnvironment(environment),
  };
  const file = validate<SettingsFile>(
    settings,
    readJson(join(packageFolder, 'config', 'appliance.schema.json')),
  );
  // Folders of the environment are the user's own and relative to where the command runs; config's, to the package.
  const folder = (value: string, variable: string | undefined): string =>
    isAbsolute(value) ? value : variable === undefined ? join(packageFolder, value) : resolve(value);
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
    isConsoleOpen: file.console?.open ?? false,
    corsOrigins: originsOf(file),
    webhookNetworks: file.webhook_networks,
    workers: workersOf(file),
    servesParts: file.serve_parts,
    structurePredictor: predictorOf(file),
    colabfold: colabfoldOf(file),
  });
}

/** Errors  Refusal `invalid_config` where no proxy is trusted: then anybody could name himself */
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

/** Browsers compare letter by letter: what they never write would never be equal. Errors  Refusal `invalid_config` */
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

/** What MMseqs2's server asks of a row by default: E-value .001 at most, half of the query covered. */
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
      `The configuration is not valid: workers has ${partCount} parts, and part ${missing} is nobody's.`,
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
        // What is no number stays text, so that the schema's message shows what was written.
        .map(([name, value]) => [name, /^\d+$/.test(value ?? '') ? Number(value) : value]),
    ),
  };
}

/** `config/prices.json`: what a unit costs. */
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

/** @param error  of Ajv with `verbose`, which has the schema of the object that it is about */
function faultOf({ instancePath, keyword, message, params, parentSchema }: ErrorObject): string {
  const place = instancePath.slice(1).replaceAll('/', '.');
  if (keyword === 'additionalProperties') {
    const name = String(params.additionalProperty);
    const known = Object.keys((parentSchema?.properties ?? {}) as Record<string, unknown>);
    return `"${place === '' ? '' : `${place}.`}${name}" is no setting; did you mean "${closest(name, known)}"?`;
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
