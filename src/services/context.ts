/** Who a request speaks for. */
export interface Principal {
  readonly organizationId: string;
  /** The API key or SQL credential that was used; `local` for the command line. */
  readonly keyId: string;
}

/** Who asks, and what ends the work. Made once per request (or command), passed down to every service call. */
export interface RequestContext extends Principal {
  readonly requestId: string;
  /** Where clients reach the server, without a slash at the end; absent on the command line. */
  readonly baseUrl?: string;
  /** Aborts when the client has gone, a deadline has passed or the server is stopping. */
  readonly signal: AbortSignal;
  /** Monotonic time of arrival, in milliseconds (performance.now). */
  readonly receivedAtMs: number;
  /** Latest monotonic time at which work may start; absent = no start deadline. */
  readonly startDeadlineMs?: number;
  /** Milliseconds from arrival until work started, where the request waited in a queue. */
  readonly queueWaitMs?: number;
}
