import type { TSchema } from '@sinclair/typebox';
import { listDatabases, listReleases } from '../search/databases.js';
import { createSignedUrl, deleteFiles, getFileAcl, readFile, setFileAcl } from '../storage/files.js';
import {
  CONTRACT_PIN_HEADER,
  IDEMPOTENCY_HEADER,
  RUNNER_HINT_HEADER,
  START_DEADLINE_HEADER,
} from '../grammar/headers.js';
import { searchHomology } from '../search/homology.js';
import { estimatePricing } from '../pricing.js';
import { getReceipt } from '../search/receipts.js';
import { resolveRefs } from '../refs.js';
import type { ContractRefusalCode } from '../../refusal-codes.js';
import type { Route } from '../grammar/route.js';
import { listRunResults } from '../runs/run-results.js';
import { cancelRun, createRun, getRun, listRuns, streamRunEvents } from '../runs/runs.js';
import { createMsa, createMsaComponent, getMsa } from '../msa.js';
import {
  createSqlCredential,
  listSqlCredentials,
  querySql,
  revokeSqlCredential,
  rotateSqlCredential,
} from '../sql.js';
import { compileTargetSpace } from '../search/target-spaces.js';
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  getWebhookDelivery,
  listWebhookDeliveries,
  listWebhookEndpoints,
  redeliverWebhook,
  rotateWebhookSecret,
} from '../webhooks.js';
import {
  abortUpload,
  acknowledgePart,
  completeUpload,
  createPartUrls,
  createUpload,
  getUpload,
  putPart,
} from '../storage/uploads.js';

/** Every operation that the contract describes, by id. config/public-routes.json lists the public ones. */
export const ROUTES = {
  'homology.search': searchHomology,
  'homology.target_space_compilations.create': compileTargetSpace,
  'homology.databases.list': listDatabases,
  'homology.databases.releases.list': listReleases,
  'receipts.get': getReceipt,
  'models.pricing.estimate': estimatePricing,
  'refs.resolve': resolveRefs,
  'runs.create': createRun,
  'runs.list': listRuns,
  'runs.get': getRun,
  'runs.cancel': cancelRun,
  'runs.results.list': listRunResults,
  'runs.events.stream': streamRunEvents,
  'webhooks.endpoints.create': createWebhookEndpoint,
  'webhooks.endpoints.list': listWebhookEndpoints,
  'webhooks.endpoints.delete': deleteWebhookEndpoint,
  'webhooks.endpoints.rotate_secret': rotateWebhookSecret,
  'webhooks.deliveries.list': listWebhookDeliveries,
  'webhooks.deliveries.get': getWebhookDelivery,
  'webhooks.deliveries.redeliver': redeliverWebhook,
  'sequences.msa.components.create': createMsaComponent,
  'sequences.msa.a3m.create': createMsa,
  'sequences.msa.a3m.get': getMsa,
  'storage.uploads.create': createUpload,
  'storage.uploads.get': getUpload,
  'storage.uploads.part_urls.create': createPartUrls,
  'storage.uploads.parts.put': putPart,
  'storage.uploads.parts.acknowledge': acknowledgePart,
  'storage.uploads.complete': completeUpload,
  'storage.uploads.abort': abortUpload,
  'storage.files.read': readFile,
  'storage.file_signed_urls.create': createSignedUrl,
  'storage.files.acl.get': getFileAcl,
  'storage.files.acl.set': setFileAcl,
  'storage.files.delete': deleteFiles,
  'sql_credentials.create': createSqlCredential,
  'sql_credentials.list': listSqlCredentials,
  'sql_credentials.rotate': rotateSqlCredential,
  'sql_credentials.revoke': revokeSqlCredential,
  'sql.query': querySql,
} as const satisfies Readonly<Record<string, Route>>;

export type OperationId = keyof typeof ROUTES;

const EVERY_ROUTE: readonly ContractRefusalCode[] = [
  'malformed_request',
  'malformed_path',
  'route_not_found',
  'method_not_allowed',
  'not_acceptable',
  'request_timeout',
  'expectation_failed',
  'header_too_large',
  'validation_failed',
  'api_version_unsupported',
  'rate_limit_exceeded',
  'start_deadline_exceeded',
  'server_stopping',
  'storage_unavailable',
  'queue_full',
  'internal_error',
];
const EVERY_KEY: readonly ContractRefusalCode[] = ['missing_api_key', 'invalid_api_key', 'permission_denied'];
const EVERY_SQL_CREDENTIAL: readonly ContractRefusalCode[] = [
  'missing_sql_credential',
  'invalid_sql_credential',
  'sql_busy',
];
const EVERY_BODY: readonly ContractRefusalCode[] = [
  'invalid_json',
  'body_too_large',
  'unsupported_media_type',
];
const EVERY_POST: readonly ContractRefusalCode[] = [
  'idempotency_key_reused',
  'idempotency_key_in_use',
  'idempotency_storage_full',
];
const EVERY_EXECUTION: readonly ContractRefusalCode[] = ['execution_limit_exceeded'];

/** Returns the request headers that this route reads, by name. */
export function headerSchemas(route: Route): Readonly<Record<string, TSchema>> {
  return {
    ...(route.method === 'POST' ? IDEMPOTENCY_HEADER : {}),
    ...CONTRACT_PIN_HEADER,
    ...START_DEADLINE_HEADER,
    ...RUNNER_HINT_HEADER,
    ...route.headers,
  };
}

/** Returns every error code that this route can return. */
export function refusalsOf(route: Route): readonly ContractRefusalCode[] {
  const codes = new Set<ContractRefusalCode>([...EVERY_ROUTE, ...route.refusals]);
  const add = (more: readonly ContractRefusalCode[]) => more.forEach((code) => codes.add(code));
  if (route.access === 'sql_credential') add(EVERY_SQL_CREDENTIAL);
  else if (route.access !== 'signature') add(EVERY_KEY);
  add(route.rawBody === undefined ? EVERY_BODY : ['body_too_large']);
  if (route.method === 'POST') add(EVERY_POST);
  if (route.work === 'execution') add(EVERY_EXECUTION);
  return [...codes];
}
