import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { HomologyCandidateSet } from '#src/contract/search/candidate-set.js';
import type { PublicRouteManifest } from '#src/contract/document/manifest.js';
import { Refusal } from '#src/errors.js';
import type { Handlers, HandlersOf } from '#src/http/handler.js';
import { createMetrics } from '#src/http/pages/metrics.js';
import { createServer, type HttpServer } from '#src/http/server.js';
import type { ShellOptions } from '#src/http/shell.js';
import { normaliseProtein } from '#src/sequence/protein.js';
import type { Reply } from '#src/services/reply.js';
import { IdempotencyTable, type IdempotencyBounds } from '#src/store/tables/idempotency.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { ROOT } from './paths.js';

export const KEY = 'glm_testtest_key-of-organization-one';
export const OTHER_KEY = 'glm_testtest_key-of-organization-two';
export const DIGEST_64 = 'a'.repeat(64);
export const MANIFEST = JSON.parse(
  readFileSync(join(ROOT, 'config/public-routes.json'), 'utf8'),
) as PublicRouteManifest;

export interface Served {
  readonly origin: string;
  readonly port: number;
  readonly http: HttpServer;
  /** Parsed log lines. */
  readonly logged: readonly Readonly<Record<string, unknown>>[];
  close(): Promise<void>;
}

export interface ServeOptions extends Partial<Omit<ShellOptions, 'idempotency'>> {
  /** Control state of an earlier server; default: a new folder that is removed with the server. */
  readonly store?: ControlStore;
  readonly bounds?: IdempotencyBounds;
}

/** The HTTP shell on a free loopback port, with stub handlers and a real LMDB. */
export async function serve(options: ServeOptions = {}): Promise<Served> {
  const folder = options.store === undefined ? mkdtempSync(join(tmpdir(), 'gloaming-http-')) : undefined;
  const store = options.store ?? openControlStore(folder as string);
  const logged: Record<string, unknown>[] = [];
  const { store: _store, bounds, ...shell } = options;
  let origin = 'http://127.0.0.1';
  const http = createServer({
    handlers: fakeHandlers(),
    manifest: MANIFEST,
    authenticate,
    authenticateUrl: () => {
      throw new Refusal('signature_invalid', 'This server has not signed this URL for this method.');
    },
    authenticateSql: async (username, password) => {
      if (username === 'sql_one' && password === 'secret') return { keyId: 'sqlc_1', organizationId: 'one' };
      throw new Refusal('invalid_sql_credential', 'User name or password is wrong.');
    },
    readiness: () => ({ isReady: true, missing: [] }),
    idempotency: new IdempotencyTable(store, bounds),
    limits: {
      requestQuota: 100_000,
      requestWindowSeconds: 60,
      concurrentExecutions: 4,
      queuedExecutions: 64,
      executionsPerKey: 64,
    },
    clock: { nowMs: () => performance.now(), now: () => new Date() },
    log: pino({ level: 'info' }, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    metrics: createMetrics(),
    serverVersion: '0.1.0+test',
    workerId: 'test-host:fake:1',
    baseUrl: () => origin,
    isResponseChecked: true,
    ...shell,
  });
  await new Promise<void>((resolve) => http.server.listen(0, '127.0.0.1', resolve));
  const { port } = http.server.address() as AddressInfo;
  origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    port,
    http,
    logged,
    async close() {
      await http.stop(2_000);
      if (folder === undefined) return;
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function authenticate(key: string) {
  if (key === KEY) return { keyId: 'key_1', organizationId: 'one' };
  if (key === OTHER_KEY) return { keyId: 'key_2', organizationId: 'two' };
  throw new Refusal('invalid_api_key', 'The API key is malformed, unknown or revoked.');
}

export function fakeHandlers(overrides: Partial<Handlers> = {}): Handlers {
  return { ...SEARCHING, ...LOOKING_UP, ...RUNNING, ...STORING, ...QUERYING, ...TELLING, ...overrides };
}

const SEARCHING: HandlersOf<'homology'> = {
  'homology.search': async ({ body }, context) => {
    // The operation refuses sequences that match the schema's pattern but are invalid.
    normaliseProtein(body.query.sequence);
    // The handler has no change that must commit with its response.
    context.keyed?.writeWithAnswer(() => undefined);
    return candidateSet(context.requestId, body.query.sequence);
  },
  'homology.target_space_compilations.create': async ({ body }) => ({
    value: {
      object: 'homology_target_space_compilation',
      id: `htsp_${DIGEST_64}`,
      target_space_id: `htsp_${DIGEST_64}`,
      database_release_id: body.DatabaseReleaseID,
      canonical_filter_sha256: DIGEST_64,
      filter_schema_id: 'fsch_1',
      semantic_profile_id: 'prof_1',
    },
    generatedObjectIds: [`htsp_${DIGEST_64}`],
  }),
  'homology.databases.list': async () => ({
    value: { object: 'list', data: [], has_more: false, next_cursor: null },
  }),
  'homology.databases.releases.list': async ({ params }) => {
    throw new Refusal('database_not_found', `No database has the id or slug "${params.database}".`);
  },
};

const LOOKING_UP: HandlersOf<'models' | 'refs' | 'receipts'> = {
  'models.pricing.estimate': async ({ body }) => ({
    value: { currency: 'EUR', estimate_type: body.estimate_type, total_cost: 1.5 },
  }),
  'refs.resolve': async ({ body }) => ({
    value: { object: 'refs_resolution', query: body.query, references: [], unindexed_release_ids: [] },
  }),
  'receipts.get': async ({ params }, context) => {
    if (context.organizationId !== 'one') {
      throw new Refusal('permission_denied', 'The receipt is of another organization.');
    }
    const content = { format: 'gloaming-receipt/1' };
    return {
      value: {
        object: 'receipt',
        id: params.receipt_id,
        sha256: DIGEST_64,
        bytes: JSON.stringify(content).length,
        created_at: '2026-08-08T00:00:00.000Z',
        content,
      },
      inputRefs: [params.receipt_id],
    };
  },
};

const RUNNING: HandlersOf<'runs' | 'sequences'> = {
  'runs.create': async ({ body }) => {
    throw new Refusal('database_not_found', `No database can be searched by ${body.endpoint}.`);
  },
  'runs.list': async () => emptyList(),
  'runs.get': refuseRun,
  'runs.cancel': refuseRun,
  'runs.results.list': refuseRun,
  'runs.events.stream': refuseRun,
  'sequences.msa.components.create': refuseForeign,
  'sequences.msa.a3m.create': refuseForeign,
  'sequences.msa.a3m.get': refuseForeign,
};

const STORING: HandlersOf<'storage'> = {
  'storage.uploads.create': async () => {
    throw new Refusal('storage_quota_exceeded', 'The organization has no room for it.');
  },
  'storage.uploads.get': refuseUpload,
  'storage.uploads.part_urls.create': refuseUpload,
  'storage.uploads.parts.put': refuseUpload,
  'storage.uploads.parts.acknowledge': refuseUpload,
  'storage.uploads.complete': refuseUpload,
  'storage.uploads.abort': refuseUpload,
  'storage.files.read': refuseFile,
  'storage.file_signed_urls.create': refuseFile,
  'storage.files.acl.get': refuseFile,
  'storage.files.acl.set': refuseFile,
  'storage.files.delete': refuseFile,
};

const QUERYING: HandlersOf<'sql' | 'sql_credentials'> = {
  'sql_credentials.create': async () => {
    throw new Refusal('sql_credentials_full', 'An organization has no more of them.');
  },
  'sql_credentials.list': async () => emptyList(),
  'sql_credentials.rotate': refuseForeign,
  'sql_credentials.revoke': refuseForeign,
  'sql.query': async ({ body }) => {
    throw new Refusal('sql_statement_refused', `${body.sql.length} characters are not executed here.`);
  },
};

const TELLING: HandlersOf<'webhooks'> = {
  'webhooks.endpoints.create': async () => {
    throw new Refusal('webhook_url_refused', 'No URL is taken here.');
  },
  'webhooks.endpoints.list': async () => emptyList(),
  'webhooks.endpoints.delete': refuseForeign,
  'webhooks.endpoints.rotate_secret': refuseForeign,
  'webhooks.deliveries.list': async () => emptyList(),
  'webhooks.deliveries.get': refuseForeign,
  'webhooks.deliveries.redeliver': refuseForeign,
};

const emptyList = () => ({
  value: { object: 'list' as const, data: [], has_more: false, next_cursor: null },
});

async function refuseForeign(): Promise<never> {
  throw new Refusal('permission_denied', 'It belongs to another organization.');
}

async function refuseUpload({ params }: { readonly params: { readonly upload_id: string } }): Promise<never> {
  throw new Refusal('upload_not_found', `No upload has the id ${params.upload_id}.`);
}

async function refuseFile(): Promise<never> {
  throw new Refusal('file_not_found', 'No file is there.');
}

async function refuseRun({ params }: { readonly params: { readonly run_id: string } }): Promise<never> {
  throw new Refusal('run_not_found', `No run has the id ${params.run_id}.`);
}

export function candidateSet(requestId: string, sequence: string): Reply<HomologyCandidateSet> {
  return {
    value: {
      object: 'homology_candidate_set',
      candidates: [],
      database: {
        corpus_snapshot_id: 'corpus_1',
        id: 'db_1',
        release_id: `dbr_${DIGEST_64}`,
        searched_residue_count: 0,
        searched_target_count: 0,
        slug: 'fake',
      },
      evidence_summary: {
        requested: 'candidate_measurement',
        is_requested_evidence_complete: true,
        alignment: {
          status: 'not_requested',
          candidate_count: 0,
          affected_candidate_count: 0,
          reason: 'not_requested',
        },
        significance: {
          requirement: 'if_available',
          status: 'not_available',
          candidate_count: 0,
          affected_candidate_count: 0,
          reason: 'no_qualified_calibration',
        },
      },
      execution: EXECUTION,
      is_result_limit_reached: false,
      performance: { is_cache_hit: false, queue_wait_ms: 0, search_execution_ms: 0, server_total_ms: 0 },
      query: {
        kind: 'protein_sequence',
        normalization_id: 'norm_1',
        normalized_length: sequence.length,
        sha256: DIGEST_64,
      },
      ranking: {
        comparability: 'within_query_only',
        order: 'ascending',
        primary_measurement: 'maxsim.bidirectional',
        scope: 'resolved_policy_frontier',
        tie_breakers: [{ field: 'target.id', order: 'ascending' }],
      },
      receipt: { bytes: 2, id: `rcpt_${DIGEST_64}`, sha256: DIGEST_64 },
      request_id: requestId,
      result_sha256: DIGEST_64,
      usage: { logical_bytes_returned: 0 },
      warnings: [],
    },
  };
}

const EXECUTION: HomologyCandidateSet['execution'] = {
  created_at: '2026-08-08T00:00:00.000Z',
  engine: 'fake',
  engine_release: '1',
  semantic_profile_id: 'prof_1',
  server_version: '0.1.0+test',
  policy: {
    is_deterministic: true,
    is_exhaustive: true,
    is_fallback: true,
    outcome: 'complete_exact',
    requested_guarantee: 'approximate',
    resolved_guarantee: 'exhaustive',
    resolution_reason: 'no_qualified_approximate_policy',
  },
};

export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A connection counts as closed after this silence following a whole response. */
const QUIET_MS = 120;
const PATIENCE_MS = 20_000;

/** Sends raw bytes, and reads until the server closes or is silent after the awaited number of responses. */
export function sendRaw(port: number, bytes: string | Buffer, awaited = 1): Promise<readonly RawResponse[]> {
  return new Promise((resolve, reject) => {
    let output = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(parseResponses(output));
    };
    let timer = setTimeout(finish, PATIENCE_MS);
    socket.on('data', (chunk) => {
      output += chunk.toString('latin1');
      clearTimeout(timer);
      timer = setTimeout(finish, parseResponses(output).length >= awaited ? QUIET_MS : PATIENCE_MS);
    });
    socket.on('close', finish);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') finish();
      else reject(error);
    });
  });
}

/** Whole responses, in order. */
function parseResponses(text: string): readonly RawResponse[] {
  const responses: RawResponse[] = [];
  let rest = text;
  while (rest.startsWith('HTTP/1.1 ')) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) break;
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const status = Number(statusLine.split(' ')[1]);
    const length = Number(headers['content-length'] ?? 0);
    if (rest.length < end + 4 + length) break;
    if (status >= 200) responses.push({ status, headers, body: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + (status >= 200 ? length : 0));
  }
  return responses;
}

export function searchBody(overrides: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ query: { kind: 'protein_sequence', sequence: 'MKVLAA' }, ...overrides });
}

export async function post(
  served: Served,
  path: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(served.origin + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
    body: body as string,
  });
}

export async function get(
  served: Served,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(served.origin + path, { headers: { authorization: `Bearer ${KEY}`, ...headers } });
}
