import type { BlockList } from 'node:net';
import type Koa from 'koa';
import type { Logger } from 'pino';
import type { ColabfoldSettings, UserHeader } from '../config.js';
import type { PublicRouteManifest } from '../contract/document/manifest.js';
import type { JsonSchema } from '../contract/document/references.js';
import type { Route } from '../contract/grammar/route.js';
import type { RouteValidator } from '../contract/document/validation.js';
import type { ColabfoldTickets } from '../services/colabfold/tickets.js';
import type { Console } from '../services/console/console.js';
import type { KeyedRequest, Principal } from '../services/context.js';
import type { AnyReply } from '../services/reply.js';
import type { PartitionResults } from '../services/workers/partition-results.js';
import type { IdempotencyTable } from '../store/tables/idempotency.js';
import type { Admission, AdmissionLimits } from './admission/admission.js';
import type { Handlers } from './handler.js';
import type { Timeouts, TlsFiles } from './listener.js';
import type { Metrics } from './pages/metrics.js';

/** A request with a signed URL. */
export interface SignedUrlRequest {
  readonly method: string;
  /** The route's path with its parameters filled in and percent-encoded. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

export interface Readiness {
  readonly isReady: boolean;
  /** Reasons why the server is not ready, as text. */
  readonly missing: readonly string[];
}

/** Services of ColabFold's MSA interface. */
export interface ColabfoldDoor {
  readonly settings: ColabfoldSettings;
  readonly tickets: ColabfoldTickets;
}

/** Dependencies of the HTTP shell: clock, disk and services. */
export interface ShellOptions {
  readonly handlers: Handlers;
  readonly manifest: PublicRouteManifest;
  /** Errors  Refusal `invalid_api_key` */
  readonly authenticate: (apiKey: string) => Principal;
  /**
   * Returns the principal of a signed URL.
   * Errors  Refusal `signature_invalid`, `url_expired`, and those of what the URL names
   */
  readonly authenticateUrl: (request: SignedUrlRequest) => Principal;
  /** Errors  Refusal `invalid_sql_credential`, `sql_busy` */
  readonly authenticateSql: (username: string, password: string) => Promise<Principal>;
  /** Absent: no console in the browser. */
  readonly console?: Console;
  readonly readiness: () => Readiness;
  /** Origins whose pages may use the contract from a browser, such as `https://lab.example:8443`. Default: none. */
  readonly sharedOrigins?: readonly string[];
  /** Absent: ColabFold's MSA interface is not served. */
  readonly colabfold?: ColabfoldDoor;
  /** Absent: this server does not serve partial results. */
  readonly partitionResults?: PartitionResults;
  /** Source folder of the Python client. Absent: it is not served. */
  readonly pythonClientFolder?: string;
  readonly idempotency: IdempotencyTable;
  readonly limits: AdmissionLimits;
  /** Monotonic milliseconds (performance.now) and the wall clock. */
  readonly clock: { readonly nowMs: () => number; readonly now: () => Date };
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Exact build, `0.1.0+<commit>`, and the name of this process: host and backend. */
  readonly serverVersion: string;
  readonly workerId: string;
  /** Public address without a slash at the end. Called after the server listens. */
  readonly baseUrl: () => string;
  /** Path of the public address, such as `/gloaming`. Default: none. */
  readonly basePath?: string;
  /** Proxies whose X-Forwarded headers are trusted. Default: none. */
  readonly trustedProxies?: BlockList;
  /** Header by which a trusted proxy names its signed-in user. Default: proxies sign in no user. */
  readonly userHeader?: UserHeader;
  /** Validates every success against its schema before it is sent. A mismatch is an internal error. */
  readonly isResponseChecked?: boolean;
  /** Serves TLS; default: plain HTTP. */
  readonly tls?: TlsFiles;
  /** Default TIMEOUTS. */
  readonly timeouts?: Timeouts;
}

/** The options and the values that are made from them at start. */
export interface Shell extends ShellOptions {
  readonly basePath: string;
  readonly routes: readonly Route[];
  readonly validators: ReadonlyMap<Route, RouteValidator>;
  readonly openApi: JsonSchema;
  readonly contractDigest: string;
  readonly admission: Admission;
  /** Aborts when the grace of a shutdown has passed. */
  readonly stopping: AbortSignal;
  readonly isDraining: () => boolean;
}

/** The state that the middlewares add to one request, in their order. */
export interface ShellState {
  requestId: string;
  receivedAtMs: number;
  /** Aborts when the client disconnects or the server stops. */
  signal: AbortSignal;
  startDeadlineMs?: number;
  /** Decoded query parameters, and path parameters of the matched path. */
  query: Readonly<Record<string, string>>;
  repeated: readonly string[];
  params: Readonly<Record<string, string>>;
  /** The operation, where the path is public. */
  route?: Route;
  /** The operation of the path, whatever the method. It gives the shape of failures before the route is known. */
  pathRoute?: Route;
  /** Name for logs and metrics: the operation or the internal page. */
  operation: string;
  principal?: Principal;
  /** Hash of the body as sent, before defaults are filled in. */
  inputHash?: string;
  /** Hash of the parameters of a large request, so that they are not hashed again for the response. */
  parametersHash?: string;
  headers: Readonly<Record<string, string | undefined>>;
  /** Media type of the response, negotiated between `Accept` and the route. */
  mediaType: string;
  input?: { readonly params: unknown; readonly query: unknown; readonly body: unknown };
  /** Of an executed request with an Idempotency-Key. */
  keyed?: KeyedRequest;
  /** The reply that was stored together with its change. */
  remembered?: AnyReply<unknown>;
  /** Code of the refusal, for the log. */
  errorCode?: string;
  /** The original request of a replayed response, for the log. */
  replayOf?: string;
}

/** Members of a request's context that the router reads or adds. */
export interface RoutedContext {
  /** The path to match, in place of Koa's. */
  newRouterPath?: string;
  /** Path parameters of the matched path, decoded. */
  params?: Readonly<Record<string, string>>;
}

export type ShellContext = Koa.ParameterizedContext<ShellState, RoutedContext>;
export type Next = Koa.Next;
export type Middleware = (context: ShellContext, next: Next) => Promise<void>;
