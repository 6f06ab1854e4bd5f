// Written by config/client-types.mjs from config/openapi.json.
import type {
  HomologyCandidateSet,
  HomologyDatabaseList,
  HomologyReleaseList,
  HomologyRequest,
  HomologyTargetSpaceCompilationEnvelope,
  TargetSpaceCompilationRequest,
} from './homology.js';
import type {
  ExecutionEnvelopeRun,
  MsaRequest,
  RunEvent,
  RunList,
  RunRequest,
  RunResultList,
} from './runs.js';
import type { MsaComponentEnvelope, MsaComponentRequest, MsaEnvelope } from './sequences.js';
import type { ReceiptEnvelope } from './receipts.js';
import type { RefsRequest, RefsResolutionEnvelope } from './references.js';
import type {
  BlobAcl,
  BlobAclEnvelope,
  FilePartAcknowledgement,
  FilePartUrlsEnvelope,
  FilePartUrlsRequest,
  FileSignedUrlEnvelope,
  FileSignedUrlRequest,
  FileUploadEnvelope,
  FileUploadPartEnvelope,
  FileUploadRequest,
  StorageFileMutationEnvelope,
} from './storage.js';
import type {
  WebhookDeliveryEnvelope,
  WebhookDeliveryList,
  WebhookEndpointEnvelope,
  WebhookEndpointList,
  WebhookEndpointRequest,
  WebhookEndpointSecretEnvelope,
} from './webhooks.js';
import type {
  SqlCredentialList,
  SqlCredentialRequest,
  SqlCredentialRevocationEnvelope,
  SqlCredentialSecretEnvelope,
  SqlQueryRequest,
  SqlResultEnvelope,
} from './sql.js';
import type { PricingEstimate, PricingEstimateRequest } from './pricing.js';
/** What each operation takes and answers; members of the query may be left out. */
export interface Operations {
  'homology.search': {
    /** Search one protein against one release */
    readonly body: HomologyRequest;
    readonly answer: HomologyCandidateSet;
  };
  'homology.target_space_compilations.create': {
    /** Compile a filter into a target space */
    readonly body: TargetSpaceCompilationRequest;
    readonly answer: HomologyTargetSpaceCompilationEnvelope;
  };
  'homology.databases.list': {
    /** List the databases that can be searched */
    readonly query?: { readonly limit?: number; readonly cursor?: string };
    readonly answer: HomologyDatabaseList;
  };
  'homology.databases.releases.list': {
    /** List the releases of a database */
    readonly params: { readonly database: string };
    readonly query?: { readonly limit?: number; readonly cursor?: string };
    readonly answer: HomologyReleaseList;
  };
  'receipts.get': {
    /** Read a receipt */
    readonly params: { readonly receipt_id: string };
    readonly answer: ReceiptEnvelope;
  };
  'models.pricing.estimate': {
    /** Estimate what calls would cost */
    readonly body: PricingEstimateRequest;
    readonly answer: PricingEstimate;
  };
  'refs.resolve': {
    /** Find things by id, accession or name */
    readonly body: RefsRequest;
    readonly answer: RefsResolutionEnvelope;
  };
  'runs.create': {
    /** Create a run */
    readonly body: RunRequest;
    readonly answer: ExecutionEnvelopeRun;
  };
  'runs.list': {
    /** List runs */
    readonly query?: {
      readonly status?: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';
      readonly endpoint?:
        | 'homology.search'
        | 'homology.batch_search'
        | 'homology.export'
        | 'sequences.msa.build'
        | 'sequences.relatives'
        | 'structure.predict';
      readonly limit?: number;
      readonly cursor?: string;
    };
    readonly answer: RunList;
  };
  'runs.get': {
    /** Read a run */
    readonly params: { readonly run_id: string };
    readonly answer: ExecutionEnvelopeRun;
  };
  'runs.cancel': {
    /** Cancel a run */
    readonly params: { readonly run_id: string };
    readonly answer: ExecutionEnvelopeRun;
  };
  'runs.results.list': {
    /** Page through the results of a run */
    readonly params: { readonly run_id: string };
    readonly query?: {
      readonly limit?: number;
      readonly cursor?: string;
      readonly outfmt?: string;
      readonly format_output?: string;
    };
    readonly answer: RunResultList;
  };
  'runs.events.stream': {
    /** Follow a run */
    readonly params: { readonly run_id: string };
    readonly answer: RunEvent;
  };
  'webhooks.endpoints.create': {
    /** Register a webhook endpoint */
    readonly body: WebhookEndpointRequest;
    readonly answer: WebhookEndpointSecretEnvelope;
  };
  'webhooks.endpoints.list': {
    /** List webhook endpoints */
    readonly query?: { readonly limit?: number; readonly cursor?: string };
    readonly answer: WebhookEndpointList;
  };
  'webhooks.endpoints.delete': {
    /** Remove a webhook endpoint */
    readonly params: { readonly endpoint_id: string };
    readonly answer: WebhookEndpointEnvelope;
  };
  'webhooks.endpoints.rotate_secret': {
    /** Give a webhook endpoint a new secret */
    readonly params: { readonly endpoint_id: string };
    readonly answer: WebhookEndpointSecretEnvelope;
  };
  'webhooks.deliveries.list': {
    /** List webhook deliveries */
    readonly query?: {
      readonly endpoint_id?: string;
      readonly status?: 'pending' | 'delivered' | 'failed';
      readonly limit?: number;
      readonly cursor?: string;
    };
    readonly answer: WebhookDeliveryList;
  };
  'webhooks.deliveries.get': {
    /** Read a webhook delivery */
    readonly params: { readonly delivery_id: string };
    readonly answer: WebhookDeliveryEnvelope;
  };
  'webhooks.deliveries.redeliver': {
    /** Send a webhook delivery again */
    readonly params: { readonly delivery_id: string };
    readonly answer: WebhookDeliveryEnvelope;
  };
  'sequences.msa.components.create': {
    /** Place one sequence of a receipt into a component of an alignment */
    readonly body: MsaComponentRequest;
    readonly answer: MsaComponentEnvelope;
  };
  'sequences.msa.a3m.create': {
    /** Build a multiple sequence alignment */
    readonly body: MsaRequest;
    readonly answer: MsaEnvelope;
  };
  'sequences.msa.a3m.get': {
    /** Download a multiple sequence alignment */
    readonly params: { readonly a3m_object_id: string };
    readonly answer: string;
  };
  'storage.uploads.create': {
    /** Initiate a multipart upload */
    readonly body: FileUploadRequest;
    readonly answer: FileUploadEnvelope;
  };
  'storage.uploads.get': {
    /** Read an upload */
    readonly params: { readonly upload_id: string };
    readonly answer: FileUploadEnvelope;
  };
  'storage.uploads.abort': {
    /** Abort an upload */
    readonly params: { readonly upload_id: string };
    readonly answer: FileUploadEnvelope;
  };
  'storage.uploads.part_urls.create': {
    /** Ask for part URLs */
    readonly params: { readonly upload_id: string };
    readonly body: FilePartUrlsRequest;
    readonly answer: FilePartUrlsEnvelope;
  };
  'storage.uploads.parts.put': {
    /** PUT a part at its signed URL */
    readonly params: { readonly upload_id: string; readonly part_number: string };
    readonly query?: { readonly version: string; readonly expires: number; readonly signature: string };
    readonly answer: FileUploadPartEnvelope;
  };
  'storage.uploads.parts.acknowledge': {
    /** Acknowledge a part */
    readonly params: { readonly upload_id: string; readonly part_number: string };
    readonly body: FilePartAcknowledgement;
    readonly answer: FileUploadPartEnvelope;
  };
  'storage.uploads.complete': {
    /** Complete an upload */
    readonly params: { readonly upload_id: string };
    readonly answer: FileUploadEnvelope;
  };
  'storage.files.read': {
    /** Read a file at its ordinary URL */
    readonly params: { readonly file_id: string; readonly file_name: string };
    readonly query?: { readonly version?: string; readonly expires?: number; readonly signature?: string };
    readonly answer: string;
  };
  'storage.file_signed_urls.create': {
    /** Sign a read-only URL */
    readonly query?: { readonly url: string };
    readonly body: FileSignedUrlRequest;
    readonly answer: FileSignedUrlEnvelope;
  };
  'storage.files.acl.get': {
    /** Read the access policy of a file */
    readonly query?: { readonly url: string };
    readonly answer: BlobAclEnvelope;
  };
  'storage.files.acl.set': {
    /** Set the access policy of a file */
    readonly query?: { readonly url: string };
    readonly body: BlobAcl;
    readonly answer: BlobAclEnvelope;
  };
  'storage.files.delete': {
    /** Delete a file or a folder */
    readonly query?: { readonly path: string };
    readonly answer: StorageFileMutationEnvelope;
  };
  'sql_credentials.create': {
    /** Create a SQL credential */
    readonly body: SqlCredentialRequest;
    readonly answer: SqlCredentialSecretEnvelope;
  };
  'sql_credentials.list': {
    /** List SQL credentials */
    readonly query?: { readonly limit?: number; readonly cursor?: string };
    readonly answer: SqlCredentialList;
  };
  'sql_credentials.rotate': {
    /** Give a SQL credential a new password */
    readonly params: { readonly credential_id: string };
    readonly answer: SqlCredentialSecretEnvelope;
  };
  'sql_credentials.revoke': {
    /** Revoke a SQL credential */
    readonly params: { readonly credential_id: string };
    readonly answer: SqlCredentialRevocationEnvelope;
  };
  'sql.query': {
    /** Execute a SQL statement */
    readonly body: SqlQueryRequest;
    readonly answer: SqlResultEnvelope;
  };
}

/** Where each operation is. */
export const PLACES: { readonly [Id in keyof Operations]: Place } = {
  'homology.search': { method: 'POST', path: '/v1/homology' },
  'homology.target_space_compilations.create': {
    method: 'POST',
    path: '/v1/homology/target-space-compilations',
  },
  'homology.databases.list': { method: 'GET', path: '/v1/homology/databases' },
  'homology.databases.releases.list': { method: 'GET', path: '/v1/homology/databases/{database}/releases' },
  'receipts.get': { method: 'GET', path: '/v1/receipts/{receipt_id}' },
  'models.pricing.estimate': { method: 'POST', path: '/v1/models/pricing/estimate' },
  'refs.resolve': { method: 'POST', path: '/v1/refs/resolve' },
  'runs.create': { method: 'POST', path: '/v1/runs' },
  'runs.list': { method: 'GET', path: '/v1/runs' },
  'runs.get': { method: 'GET', path: '/v1/runs/{run_id}' },
  'runs.cancel': { method: 'POST', path: '/v1/runs/{run_id}/cancel' },
  'runs.results.list': { method: 'GET', path: '/v1/runs/{run_id}/results' },
  'runs.events.stream': { method: 'GET', path: '/v1/runs/{run_id}/events', accept: 'text/event-stream' },
  'webhooks.endpoints.create': { method: 'POST', path: '/v1/webhooks/endpoints' },
  'webhooks.endpoints.list': { method: 'GET', path: '/v1/webhooks/endpoints' },
  'webhooks.endpoints.delete': { method: 'DELETE', path: '/v1/webhooks/endpoints/{endpoint_id}' },
  'webhooks.endpoints.rotate_secret': {
    method: 'POST',
    path: '/v1/webhooks/endpoints/{endpoint_id}/rotate-secret',
  },
  'webhooks.deliveries.list': { method: 'GET', path: '/v1/webhooks/deliveries' },
  'webhooks.deliveries.get': { method: 'GET', path: '/v1/webhooks/deliveries/{delivery_id}' },
  'webhooks.deliveries.redeliver': {
    method: 'POST',
    path: '/v1/webhooks/deliveries/{delivery_id}/redeliver',
  },
  'sequences.msa.components.create': { method: 'POST', path: '/v1/sequences/msa/components' },
  'sequences.msa.a3m.create': { method: 'POST', path: '/v1/sequences/msa/a3m' },
  'sequences.msa.a3m.get': { method: 'GET', path: '/v1/sequences/msa/a3m/{a3m_object_id}', accept: '*/*' },
  'storage.uploads.create': { method: 'POST', path: '/v1/storage/uploads' },
  'storage.uploads.get': { method: 'GET', path: '/v1/storage/uploads/{upload_id}' },
  'storage.uploads.abort': { method: 'DELETE', path: '/v1/storage/uploads/{upload_id}' },
  'storage.uploads.part_urls.create': { method: 'POST', path: '/v1/storage/uploads/{upload_id}/part-urls' },
  'storage.uploads.parts.put': { method: 'PUT', path: '/v1/storage/uploads/{upload_id}/parts/{part_number}' },
  'storage.uploads.parts.acknowledge': {
    method: 'POST',
    path: '/v1/storage/uploads/{upload_id}/parts/{part_number}/acknowledge',
  },
  'storage.uploads.complete': { method: 'POST', path: '/v1/storage/uploads/{upload_id}/complete' },
  'storage.files.read': { method: 'GET', path: '/v1/storage/files/{file_id}/{file_name}', accept: '*/*' },
  'storage.file_signed_urls.create': { method: 'POST', path: '/v1/storage/file-signed-urls' },
  'storage.files.acl.get': { method: 'GET', path: '/v1/storage/files/acl' },
  'storage.files.acl.set': { method: 'PUT', path: '/v1/storage/files/acl' },
  'storage.files.delete': { method: 'DELETE', path: '/v1/storage/files' },
  'sql_credentials.create': { method: 'POST', path: '/v1/sql-credentials' },
  'sql_credentials.list': { method: 'GET', path: '/v1/sql-credentials' },
  'sql_credentials.rotate': { method: 'POST', path: '/v1/sql-credentials/{credential_id}/rotate' },
  'sql_credentials.revoke': { method: 'DELETE', path: '/v1/sql-credentials/{credential_id}' },
  'sql.query': { method: 'POST', path: '/v1/sql/query' },
};

/** A path with its parameters in braces; the type that is asked for is JSON unless it is said. */
export interface Place {
  readonly method: string;
  readonly path: string;
  readonly accept?: string;
}
