import { LRUCache } from 'lru-cache';
import { canonicalSha256, sha256Hex } from '../../canonical.js';
import type { ColabfoldSettings } from '../../config.js';
import type { Run } from '../../contract/runs/runs.js';
import type { SearchRunSummary } from '../../contract/runs/run-kinds.js';
import { Refusal } from '../../errors.js';
import {
  COLABFOLD_ARCHIVE_MAX_BYTES,
  COLABFOLD_ARCHIVES_MAX_BYTES,
  COLABFOLD_ATTEMPTS_MAX_COUNT,
  COLABFOLD_FIRST_ROUND_LIMIT,
  MSA_DEFAULT_EXPECTED_FALSE_HITS,
} from '../../limits.js';
import type { IdempotencyTable } from '../../store/tables/idempotency.js';
import type { RunRow, RunTable } from '../../store/tables/runs.js';
import type { Budgets } from '../billing/budgets.js';
import type { RequestContext } from '../context.js';
import type { Runs } from '../runs/runs.js';
import type { Catalog, CatalogRelease } from '../search/catalog.js';
import type { Receipts } from '../search/receipts.js';
import { namedBlock, pairedBlocks, type PairedChain } from './alignments.js';
import { ArchiveQueue } from './archive-queue.js';
import { tarGz, type ArchivedFile } from './archive.js';
import { givesHomologs } from '../run-kinds/relatives.js';
import { TicketBlocks } from './blocks.js';
import { readFormQueries, type NamedQuery } from './form.js';
import {
  readMode,
  readTicket,
  writeTicket,
  type Ticket,
  type TicketMode,
  type TicketQuery,
  type TicketSearch,
} from './ticket.js';

interface ColabfoldDependencies {
  readonly settings: ColabfoldSettings;
  readonly catalog: Pick<Catalog, 'defaultRelease'>;
  readonly receipts: Pick<Receipts, 'get'>;
  readonly runs: Pick<Runs, 'create'>;
  readonly table: Pick<RunTable, 'get' | 'rows' | 'unfinished'>;
  readonly budgets: Pick<Budgets, 'requireFunds'>;
  readonly idempotency: IdempotencyTable;
  readonly now: () => Date;
}

/** State of a ticket for its client. */
export interface TicketState {
  readonly id: string;
  readonly status: 'PENDING' | 'RUNNING' | 'COMPLETE' | 'ERROR';
  /** Runs of the ticket, which can be watched and cancelled. */
  readonly run_ids: readonly string[];
  /** Human-readable reason of an error. */
  readonly reason?: string;
}

/** Work of all tickets, over all organizations. */
export interface TicketLoad {
  readonly waitingRuns: number;
  readonly runsAtWork: number;
  /** Archives that wait or are in the making. */
  readonly archives: number;
  /** Age of the run that has waited longest. Unit  ms. Range  0 without one */
  readonly longestWaitMs: number;
}

/** Marks the runs of tickets among the runs of an organization. */
const RUN_LABEL = 'colabfold';

/** File names that clients look for. */
const MAIN_FILE = 'uniref.a3m';
const ENVIRONMENT_FILE = 'bfd.mgnify30.metaeuk30.smag30.a3m';
const PAIRED_FILE = 'pair.a3m';
/** Structural templates. The file is empty, so a client that requests templates finds none. */
const TEMPLATES_FILE = 'pdb70.m8';

/** Endpoints of a ticket's runs. */
type SearchEndpoint = 'homology.search' | 'sequences.relatives';
/** A run of a ticket: what it does, and how many candidates each of its searches lists. */
interface TicketWork {
  readonly endpoint: SearchEndpoint;
  readonly limit: number;
}
const SEARCHED = {
  evidence: 'pairwise_sequence_alignment',
  guarantee: 'approximate',
  significance: 'if_available',
} as const;

/**
 * ColabFold's MSA server on top of ordinary runs. Each sequence is a run of `homology.search` over each database. The
 * run's idempotency key is derived from everything that determines its result. The same sequence, alone or in another
 * complex, paired or not, therefore reuses the run, which is billed once. For a database with homologs, the query is
 * encoded with its homologs, and a run of `sequences.relatives` adds the homologs themselves. The same run adds those
 * of later rounds and of a homolog source, if the settings ask for them.
 * Source  the requests of ColabFold's client, which Boltz, Chai and Protenix share
 */
export class ColabfoldTickets {
  readonly #dependencies: ColabfoldDependencies;
  /** Archives by ticket. A client that timed out asks again. */
  readonly #archives = new LRUCache<string, Buffer>({
    maxSize: COLABFOLD_ARCHIVES_MAX_BYTES,
    sizeCalculation: ({ length }) => length + 1,
  });
  readonly #queue: ArchiveQueue;
  /** Shared by all tickets that name the same runs, whatever names they give to them. */
  readonly #blocks: TicketBlocks;

  constructor(dependencies: ColabfoldDependencies) {
    this.#dependencies = dependencies;
    this.#queue = new ArchiveQueue();
    this.#blocks = new TicketBlocks(dependencies);
  }

  /** Errors  those of the form, the catalog, budgets and runs.create */
  async submit(
    route: 'msa' | 'pair',
    form: { readonly q: string; readonly mode: string },
    context: RequestContext,
  ): Promise<TicketState> {
    const mode = readMode(route, form.mode);
    const queries = await readFormQueries(form.q);
    const { database, environmentalDatabase } = this.#dependencies.settings;
    const isWide = mode.hasEnvironment && environmentalDatabase !== undefined;
    const databases = isWide ? [database, environmentalDatabase] : [database];
    const ticketQueries: TicketQuery[] = [];
    for (const query of queries) {
      const searches: TicketSearch[] = [];
      for (const slug of databases) searches.push(await this.#searchOf(query, slug, mode, context));
      ticketQueries.push({ name: query.name, searches });
    }
    return this.#stateOf({ mode, queries: ticketQueries }, context);
  }

  /** undefined if the id is no ticket or its runs were deleted. Errors  Refusal `permission_denied` */
  status(id: string, context: RequestContext): TicketState | undefined {
    const ticket = readTicket(id);
    return ticket && this.#hasResults(ticket) ? this.#stateOf(ticket, context) : undefined;
  }

  /**
   * Returns the archive of a complete ticket; undefined as for status.
   * Errors  Refusal `permission_denied`, `run_not_completed`, `queue_full`; Faults of the disk; the context's signal
   */
  async archive(id: string, context: RequestContext): Promise<Buffer | undefined> {
    const ticket = readTicket(id);
    if (ticket === undefined || !this.#hasResults(ticket)) return undefined;
    const { status } = this.#stateOf(ticket, context);
    if (status !== 'COMPLETE')
      throw new Refusal('run_not_completed', `The ticket is ${status}; ask again when it is COMPLETE.`);
    const { organizationId } = context;
    const key = sha256Hex(`${organizationId} ${id}`);
    const cached = this.#archives.get(key);
    if (cached !== undefined) return cached;
    const make = async (signal: AbortSignal): Promise<Buffer> => {
      const archive = await this.#make(ticket, { ...context, signal });
      this.#archives.set(key, archive);
      return archive;
    };
    return this.#queue.wait({ key, organizationId, make }, context.signal);
  }

  /** Counts what waits and what is at work. Time  some ms for thousands of waiting runs */
  load(): TicketLoad {
    const { table, now } = this.#dependencies;
    const runs = table.unfinished().filter(({ label }) => label === RUN_LABEL);
    const waiting = runs.filter(({ status }) => status === 'queued');
    const first = waiting.at(0);
    return {
      waitingRuns: waiting.length,
      runsAtWork: runs.length - waiting.length,
      archives: this.#queue.count,
      longestWaitMs: first === undefined ? 0 : Math.max(0, now().getTime() - Date.parse(first.createdAt)),
    };
  }

  /**
   * Rows are paired by the taxa of the database's proteins. Proteins of its homolog source have no taxa. With rounds,
   * the second run has the rows of the first round, too, so that the search lists only the best of them.
   */
  async #searchOf(
    query: NamedQuery,
    slug: string,
    { pairing }: TicketMode,
    context: RequestContext,
  ): Promise<TicketSearch> {
    const { settings, catalog } = this.#dependencies;
    const release = catalog.defaultRelease(slug, context.organizationId);
    const { hasBackgroundRows, rounds, homologSource, maxSequences } = settings;
    const limit =
      pairing === undefined && findsRowsAnew(settings)
        ? Math.min(maxSequences, COLABFOLD_FIRST_ROUND_LIMIT)
        : maxSequences;
    const run = (endpoint: SearchEndpoint, rows: number): Promise<string> =>
      this.#runOf({ endpoint, limit: rows }, query, release, context);
    const runId = await run('homology.search', limit);
    const hasMore = givesHomologs(release.manifest) || rounds > 1 || homologSource !== undefined;
    if (pairing !== undefined || !hasBackgroundRows || !hasMore) return { runId };
    return { runId, homologsRunId: await run('sequences.relatives', maxSequences) };
  }

  /** Run of this query: an earlier one if it is still readable, otherwise a new one. */
  async #runOf(
    work: TicketWork,
    query: NamedQuery,
    { releaseId }: CatalogRelease,
    context: RequestContext,
  ): Promise<string> {
    const { settings, idempotency, table, now } = this.#dependencies;
    const { endpoint, limit } = work;
    // Runs keep the keys that they had before there were runs of homologs, rounds and sources.
    const parts = endpoint === 'homology.search' ? [] : [endpoint, ...Object.entries(deepInput(settings))];
    for (let attempt = 0; attempt < COLABFOLD_ATTEMPTS_MAX_COUNT; attempt += 1) {
      const key = canonicalSha256([query.sequence, releaseId, limit, attempt, ...parts]);
      const { organizationId } = context;
      const scope = canonicalSha256([organizationId, 'colabfold.ticket', key]);
      const claim = await idempotency.claim({ organizationId, key, scope, fingerprint: key }, now());
      if (claim.stored !== undefined) {
        const run = table.get(claim.stored.body);
        if (run !== undefined && isReusable(run)) return run.id;
        continue;
      }
      try {
        return await this.#createRun(work, query, releaseId, {
          ...context,
          keyed: {
            remember: ({ value }) => claim.put({ status: 202, headers: {}, body: (value as Run).id }, now()),
            writeWithAnswer: () => undefined,
          },
        });
      } finally {
        claim.release();
      }
    }
    throw new Refusal(
      'queue_full',
      `${COLABFOLD_ATTEMPTS_MAX_COUNT} runs of this sequence have failed or were cancelled within a day.`,
      { retryAfterSeconds: 3600 },
    );
  }

  async #createRun(
    { endpoint, limit }: TicketWork,
    { sequence }: NamedQuery,
    releaseId: string,
    context: RequestContext,
  ): Promise<string> {
    const { settings, runs, budgets } = this.#dependencies;
    budgets.requireFunds(context.organizationId);
    const input = {
      query: { kind: 'protein_sequence', sequence },
      database_release_id: releaseId,
      limit,
    } as const;
    const common = { label: RUN_LABEL, priority: 'normal', background: true } as const;
    const request =
      endpoint === 'homology.search'
        ? ({ endpoint, input: { ...input, ...SEARCHED }, ...common } as const)
        : ({ endpoint, input: { ...input, ...deepInput(settings) }, ...common } as const);
    const { value } = await runs.create(request, {}, context);
    return value.id;
  }

  /** Whether all runs are stored, with results, and of the kinds that a ticket of this server names. */
  #hasResults({ queries }: Ticket): boolean {
    const { table } = this.#dependencies;
    return queries.every(({ searches }) => isTicketQuery(searches, (id) => table.get(id)));
  }

  #stateOf(ticket: Ticket, { organizationId }: RequestContext): TicketState {
    const runs = runIdsOf(ticket).map((id) => this.#dependencies.table.get(id) as RunRow);
    if (runs.some((run) => run.organizationId !== organizationId))
      throw new Refusal('permission_denied', 'The ticket belongs to another organization.');
    const body = { id: writeTicket(ticket), run_ids: runs.map(({ id }) => id) };
    const reason = runs.map((run) => obstacleOf(run, this.#dependencies.settings)).find(Boolean);
    if (reason !== undefined) return { ...body, status: 'ERROR', reason };
    if (runs.every(({ status }) => status === 'completed')) return { ...body, status: 'COMPLETE' };
    return { ...body, status: runs.some(({ status }) => status !== 'queued') ? 'RUNNING' : 'PENDING' };
  }

  async #make({ mode, queries }: Ticket, context: RequestContext): Promise<Buffer> {
    const { signal } = context;
    if (mode.pairing !== undefined) {
      const chains: PairedChain[] = [];
      for (const { name, searches } of queries)
        chains.push({ name, ...(await this.#blocks.paired(searches[0], context)) });
      const pieces = await pairedBlocks(chains, mode.pairing, COLABFOLD_ARCHIVE_MAX_BYTES, signal);
      return tarGz([{ name: PAIRED_FILE, pieces }], signal);
    }
    const names = mode.hasEnvironment ? [MAIN_FILE, ENVIRONMENT_FILE] : [MAIN_FILE];
    const maxBytes = Math.floor(COLABFOLD_ARCHIVE_MAX_BYTES / (names.length * queries.length));
    const files: ArchivedFile[] = [];
    for (const [at, name] of names.entries()) {
      const pieces: Buffer[] = [];
      for (const { name: query, searches } of queries) {
        const block = await this.#blocks.unpaired(searches[0], searches[at], mode.isFiltered, context);
        pieces.push(...namedBlock(query, block, maxBytes));
      }
      files.push({ name, pieces });
    }
    return tarGz([...files, { name: TEMPLATES_FILE, pieces: [] }], signal);
  }
}

/** Whether the run of homologs finds all rows of the search anew: its rounds list E-values up to the default bound. */
function findsRowsAnew({ hasBackgroundRows, rounds, maxEvalue }: ColabfoldSettings): boolean {
  const isWithin = maxEvalue !== null && maxEvalue <= MSA_DEFAULT_EXPECTED_FALSE_HITS;
  return hasBackgroundRows && rounds > 1 && isWithin;
}

/** Members of a run of homologs that ask for rounds and for a homolog source. */
function deepInput({ rounds, homologSource }: ColabfoldSettings) {
  return {
    ...(rounds > 1 && { rounds }),
    ...(homologSource !== undefined && { homolog_source: homologSource }),
  };
}

function runIdsOf({ queries }: Ticket): readonly string[] {
  const searches = queries.flatMap((query) => query.searches);
  return searches.flatMap(({ runId, homologsRunId }) => [runId, ...(homologsRunId ? [homologsRunId] : [])]);
}

/**
 * Whether a query names what a ticket of this server does: searches with alignments and runs of homologs, all of one
 * sequence. The id of a ticket is not signed, so a client can name any of its runs.
 */
function isTicketQuery(
  searches: readonly TicketSearch[],
  runOf: (id: string) => RunRow | undefined,
): boolean {
  const queries = new Set<string>();
  return searches.every(({ runId, homologsRunId }) => {
    const runs = [
      { run: runOf(runId), endpoint: 'homology.search' },
      ...(homologsRunId === undefined
        ? []
        : [{ run: runOf(homologsRunId), endpoint: 'sequences.relatives' }]),
    ];
    return runs.every(({ run, endpoint }) => {
      if (run === undefined || run.areResultsGone || run.endpoint !== endpoint) return false;
      if (run.status !== 'completed') return true;
      const { query, evidence_summary: evidence } = run.summary as RunSummary;
      queries.add(query.sha256);
      return evidence?.alignment.status !== 'not_requested' && queries.size === 1;
    });
  });
}

/** Members of the summaries of both kinds of run. */
type RunSummary = Pick<SearchRunSummary, 'query'> & Partial<Pick<SearchRunSummary, 'evidence_summary'>>;

/** A failed run, or one whose results were deleted, does not prevent a new search of its sequence. */
function isReusable({ status, areResultsGone }: RunRow): boolean {
  return status !== 'failed' && status !== 'cancelled' && !areResultsGone;
}

/** Reason why there will be no alignment; undefined if there is one, or may be. */
function obstacleOf(run: RunRow, { maxEvalue }: ColabfoldSettings): string | undefined {
  if (run.status === 'cancelled') return `The run ${run.id} was cancelled.`;
  if (run.status === 'failed') return run.error?.message ?? `The run ${run.id} has failed.`;
  const isSearch = run.endpoint === 'homology.search';
  if (run.status !== 'completed' || maxEvalue === null || run.rowCount === 0 || !isSearch) return undefined;
  const { evidence_summary: evidence, database } = run.summary as SearchRunSummary;
  if (evidence.significance.status !== 'not_available') return undefined;
  // Clients would read an alignment of the query alone as the absence of homologs.
  return (
    `The database ${database.slug} gives a query of this length no E-values, and the alignments are bound by them. ` +
    'Calibrate it ("gloaming index calibrate"), or set "max_evalue" of "colabfold" to null.'
  );
}
