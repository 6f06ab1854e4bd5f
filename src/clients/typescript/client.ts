export { GloamingError } from './failure.js';
import { readEvents } from './events.js';
import { createTransport, type CallOptions, type ClientOptions, type Input } from './transport.js';
import type { LooseInput, OperationId, Transport } from './transport.js';
import type {
  HomologyCandidateSet,
  HomologyDatabase,
  HomologyRelease,
  HomologyRequest,
} from './types/homology.js';
import type { Operations } from './types/operations.js';
import type { Msa, MsaRequest, Run, RunEvent, RunRequest } from './types/runs.js';

type AnswerOf<Id extends OperationId> = Operations[Id]['answer'];
/** A row of a run: a candidate, a query of a batch, or a homolog, depending on the endpoint. */
export type ResultRow = AnswerOf<'runs.results.list'>['data'][number];
type RunsQuery = NonNullable<Operations['runs.list']['query']>;

/**
 * A Gloaming server. Every method retries a transient failure, up to `retries` times. A request that changes something
 * carries an Idempotency-Key, so that retries execute it once.
 * Errors  GloamingError for every failed response; those of fetch without a response
 */
export interface Client {
  /** Searches one release with one protein. @returns candidates, nearest first */
  search(request: HomologyRequest, options?: CallOptions): Promise<HomologyCandidateSet>;
  /** Yields the databases that the key may see, by slug. */
  databases(options?: CallOptions): AsyncGenerator<HomologyDatabase>;
  /** Yields the releases of a database, newest first. @param database id or slug */
  releases(database: string, options?: CallOptions): AsyncGenerator<HomologyRelease>;
  /** Creates a run and does not wait for its end. */
  submit(request: RunRequest, options?: CallOptions): Promise<Run>;
  run(id: string, options?: CallOptions): Promise<Run>;
  /** Yields the runs of the organization, newest first. */
  runs(query?: RunsQuery, options?: CallOptions): AsyncGenerator<Run>;
  /** Yields changes of state and progress until the run has ended; reconnects after a lost connection. */
  watch(id: string, options?: CallOptions): AsyncGenerator<RunEvent>;
  /** Yields the rows of a run in order. If the run is still executing, it waits for the next rows. */
  results(id: string, options?: CallOptions): AsyncGenerator<ResultRow>;
  cancel(id: string, options?: CallOptions): Promise<Run>;
  /** Builds a multiple sequence alignment from the alignments of a search. */
  msa(request: MsaRequest, options?: CallOptions): Promise<{ readonly msa: Msa; readonly a3m: string }>;
  /** Calls any operation of the contract, as `/docs/api` describes it. @returns the JSON body of the response */
  call<Id extends OperationId>(id: Id, input: Input<Id>): Promise<AnswerOf<Id>>;
  /** Calls any operation and returns the response itself: for bytes, streams and headers. */
  send<Id extends OperationId>(id: Id, input: Input<Id>): Promise<Response>;
}

/**
 * Creates a client of one server.
 * ```ts
 * const gloaming = createClient({ url: 'http://127.0.0.1:8080', key });
 * const candidates = await gloaming.search({ query: { kind: 'protein_sequence', sequence }, limit: 10 });
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const transport = createTransport(options);
  const send: Client['send'] = (id, input) => transport.send(id, input as LooseInput);
  const call = async <Id extends OperationId>(id: Id, input: Input<Id>): Promise<AnswerOf<Id>> =>
    (await (await send(id, input)).json()) as AnswerOf<Id>;
  return {
    call,
    send,
    search: (body, rest) => call('homology.search', { body, ...rest }),
    databases: (rest) => pages((query) => call('homology.databases.list', { query, ...rest })),
    releases: (database, rest) =>
      pages((query) => call('homology.databases.releases.list', { params: { database }, query, ...rest })),
    async submit(body, { headers, ...rest } = {}) {
      const prefer = { Prefer: 'respond-async', ...headers };
      return (await call('runs.create', { body, headers: prefer, ...rest })).data;
    },
    run: async (id, rest) => (await call('runs.get', { params: { run_id: id }, ...rest })).data,
    runs: (only, rest) => pages((query) => call('runs.list', { query: { ...only, ...query }, ...rest })),
    watch: (id, rest) => watch(transport, id, rest),
    results: (id, rest) => results(transport, id, call, rest),
    cancel: async (id, rest) => (await call('runs.cancel', { params: { run_id: id }, ...rest })).data,
    async msa(body, rest) {
      const { data } = await call('sequences.msa.a3m.create', { body, ...rest });
      const params = { a3m_object_id: data.id };
      const response = await send('sequences.msa.a3m.get', { params, ...rest });
      return { msa: data, a3m: await response.text() };
    },
  };
}

interface Page<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

const PAGE_ROWS = 100;
/** Highest limit of the contract; the server may return a shorter page to bound its size. */
const RESULT_PAGE_ROWS = 1_000;

async function* pages<Item>(
  request: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<Item> {
  let cursor: string | undefined;
  do {
    const page = await request({ limit: PAGE_ROWS, ...(cursor !== undefined && { cursor }) });
    yield* page.data;
    const next = page.has_more ? (page.next_cursor ?? undefined) : undefined;
    if (next !== undefined && next === cursor)
      throw new Error('The server answers with the same page again.');
    cursor = next;
  } while (cursor !== undefined);
}

/** Pause between polls for further rows, and between connections. */
const PAUSE_MS = 500;
const ENDS: ReadonlySet<string> = new Set(['run.completed', 'run.failed', 'run.cancelled']);

async function* watch(
  transport: Transport,
  id: string,
  { headers, signal }: CallOptions = {},
): AsyncGenerator<RunEvent> {
  let lastId: string | undefined;
  for (;;) {
    const resumed = { ...headers, ...(lastId !== undefined && { 'Last-Event-ID': lastId }) };
    const options = { headers: resumed, ...(signal && { signal }) };
    const { body } = await transport.send('runs.events.stream', { params: { run_id: id }, ...options });
    try {
      for await (const event of readEvents<RunEvent>(body as ReadableStream<Uint8Array>)) {
        if (typeof event.data?.type !== 'string') throw new Error('The server sends events without a type.');
        lastId = event.id ?? lastId;
        yield event.data;
        if (ENDS.has(event.data.type)) return;
      }
    } catch (error) {
      // fetch reports a lost connection as TypeError: reconnect behind the last event. An abort ends the loop.
      if (signal?.aborted || !(error instanceof TypeError)) throw error;
    }
    await transport.pause(PAUSE_MS, signal);
  }
}

async function* results(
  transport: Transport,
  id: string,
  call: Client['call'],
  options: CallOptions = {},
): AsyncGenerator<ResultRow> {
  let cursor: string | undefined;
  for (;;) {
    const query = { limit: RESULT_PAGE_ROWS, ...(cursor !== undefined && { cursor }) };
    const page = await call('runs.results.list', { params: { run_id: id }, query, ...options });
    yield* page.data;
    if (!page.has_more) return;
    const isMoved = page.next_cursor !== null && page.next_cursor !== cursor;
    if (page.data.length > 0 && !isMoved) throw new Error('The server answers with the same page again.');
    cursor = page.next_cursor ?? cursor;
    if (page.data.length > 0) continue;
    // Further rows will come unless the run has failed or was cancelled.
    const { data: run } = await call('runs.get', { params: { run_id: id }, ...options });
    if (run.status === 'failed' || run.status === 'cancelled') return;
    await transport.pause(PAUSE_MS, options.signal);
  }
}
