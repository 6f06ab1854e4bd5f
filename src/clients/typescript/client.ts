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
/** As the endpoint of the run makes it: a candidate, a query of a batch, or a relative. */
export type ResultRow = AnswerOf<'runs.results.list'>['data'][number];
type RunsQuery = NonNullable<Operations['runs.list']['query']>;

/**
 * A Gloaming server. Every method sends its request again, up to `retries` times, where the failure was of the moment;
 * what changes something does so under an Idempotency-Key, and so once.
 * Errors  GloamingError for every answer that is no success; those of fetch where there is no answer
 */
export interface Client {
  /** One protein against one release: candidates, nearest first. */
  search(request: HomologyRequest, options?: CallOptions): Promise<HomologyCandidateSet>;
  /** Databases that the key may see, by slug. */
  databases(options?: CallOptions): AsyncGenerator<HomologyDatabase>;
  /** Releases of a database, newest first. @param database id or slug */
  releases(database: string, options?: CallOptions): AsyncGenerator<HomologyRelease>;
  /** Creates a run and does not wait for its end. */
  submit(request: RunRequest, options?: CallOptions): Promise<Run>;
  run(id: string, options?: CallOptions): Promise<Run>;
  /** Runs of the organization, newest first. */
  runs(query?: RunsQuery, options?: CallOptions): AsyncGenerator<Run>;
  /** Changes of state and progress until the run has ended, over as many connections as it takes. */
  watch(id: string, options?: CallOptions): AsyncGenerator<RunEvent>;
  /** Rows of a run in their order; of one that is at work, also those that are still to come. */
  results(id: string, options?: CallOptions): AsyncGenerator<ResultRow>;
  cancel(id: string, options?: CallOptions): Promise<Run>;
  /** Builds an alignment of what a search has aligned. */
  msa(request: MsaRequest, options?: CallOptions): Promise<{ readonly msa: Msa; readonly a3m: string }>;
  /** Any operation of the contract, as `/docs` describes it. @returns the body of its answer */
  call<Id extends OperationId>(id: Id, input: Input<Id>): Promise<AnswerOf<Id>>;
  /** The same, with the answer as it came: for bytes, streams and headers. */
  send<Id extends OperationId>(id: Id, input: Input<Id>): Promise<Response>;
}

/**
 * ```ts
 * const gloaming = createClient({ url: 'http://127.0.0.1:8080', key });
 * const found = await gloaming.search({ query: { kind: 'protein_sequence', sequence }, limit: 10 });
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
/** The most that the contract gives; the server ends a page early rather than make it large. */
const RESULT_PAGE_ROWS = 1_000;

async function* pages<Item>(
  ask: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<Item> {
  let cursor: string | undefined;
  do {
    const page = await ask({ limit: PAGE_ROWS, ...(cursor !== undefined && { cursor }) });
    yield* page.data;
    cursor = page.has_more ? (page.next_cursor ?? undefined) : undefined;
  } while (cursor !== undefined);
}

/** Between looks at rows that are not there yet, and between connections. */
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
        lastId = event.id ?? lastId;
        yield event.data;
        if (ENDS.has(event.data.type)) return;
      }
    } catch (error) {
      // A connection that broke is begun again where it ended; who gave up is let go.
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
    cursor = page.next_cursor ?? cursor;
    if (page.data.length > 0) continue;
    // More will come, unless the run has ended without it.
    const { data: run } = await call('runs.get', { params: { run_id: id }, ...options });
    if (run.status === 'failed' || run.status === 'cancelled') return;
    await transport.pause(PAUSE_MS, options.signal);
  }
}
