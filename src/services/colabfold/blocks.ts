import { LRUCache } from 'lru-cache';
import type { ColabfoldSettings } from '../../config.js';
import type { ProteinRelative as ProteinHomolog } from '../../contract/runs/run-relatives.js';
import type { SearchRunSummary } from '../../contract/runs/run-kinds.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import { Refusal } from '../../errors.js';
import { COLABFOLD_BLOCKS_MAX_BYTES } from '../../limits.js';
import type { RunRow, RunTable } from '../../store/tables/runs.js';
import { pause } from '../../turns.js';
import type { RequestContext } from '../context.js';
import type { Receipts } from '../search/receipts.js';
import { bestOfSpecies, unpairedBlock, type Block, type PairedChain } from './alignments.js';
import type { TicketSearch } from './ticket.js';

interface BlocksDependencies {
  readonly settings: ColabfoldSettings;
  readonly receipts: Pick<Receipts, 'get'>;
  readonly table: Pick<RunTable, 'get' | 'rows'>;
}

type Best = PairedChain['best'];

/** Alignments of single runs, each computed once while it is cached. Archives are made of them. */
export class TicketBlocks {
  readonly #dependencies: BlocksDependencies;
  /** By the ids of the runs and the mode. Runs are immutable, and an organization has runs of its own. */
  readonly #blocks = new LRUCache<string, Block>({
    maxSize: COLABFOLD_BLOCKS_MAX_BYTES,
    sizeCalculation: ({ bytes, ends }) => bytes.length + 8 * ends.length,
  });
  readonly #best = new LRUCache<string, Best>({
    maxSize: COLABFOLD_BLOCKS_MAX_BYTES,
    sizeCalculation: (best) => [...best.values()].reduce((sum, { record }) => sum + record.length, 1),
  });

  constructor(dependencies: BlocksDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Alignment of a query with the rows of one database.
   * @param first  the search that has the query
   * @param search  undefined if the database was not searched; the alignment then has no rows
   * Errors  Refusal `result_expired` and those of the receipt; the context's signal
   */
  async unpaired(
    first: TicketSearch,
    search: TicketSearch | undefined,
    isFiltered: boolean,
    context: RequestContext,
  ): Promise<Block> {
    const { runId, homologsRunId }: Partial<TicketSearch> = search ?? {};
    const key = [first.runId, runId, homologsRunId, isFiltered].join(' ');
    const cached = this.#blocks.get(key);
    if (cached !== undefined) return cached;
    const chain = {
      sequence: this.#sequenceOf(first, context),
      candidates: this.#rowsOf<HomologyCandidate>(runId),
      relatives: this.#rowsOf<ProteinHomolog>(homologsRunId),
    };
    const block = await unpairedBlock(chain, this.#dependencies.settings, isFiltered, context.signal);
    this.#blocks.set(key, block);
    return block;
  }

  /** The query of a search and the best protein of each species. Errors  those of `unpaired` */
  async paired({ runId }: TicketSearch, context: RequestContext): Promise<Omit<PairedChain, 'name'>> {
    const sequence = this.#sequenceOf({ runId }, context);
    const cached = this.#best.get(runId);
    if (cached !== undefined) return { sequence, best: cached };
    const chain = { sequence, candidates: this.#rowsOf<HomologyCandidate>(runId) };
    const best = await bestOfSpecies(chain, this.#dependencies.settings, context.signal);
    this.#best.set(runId, best);
    return { sequence, best };
  }

  /** Only the receipt of a search has its query. */
  #sequenceOf({ runId }: TicketSearch, context: RequestContext): string {
    const { table, receipts } = this.#dependencies;
    const { receipt } = (table.get(runId) as RunRow).summary as SearchRunSummary;
    const { query } = receipts.get(receipt.id, context).value.content;
    return (query as { readonly sequence: string }).sequence;
  }

  async *#rowsOf<Row>(runId: string | undefined): AsyncGenerator<readonly Row[]> {
    if (runId === undefined) return;
    const { table } = this.#dependencies;
    const rowCount = table.get(runId)?.rowCount ?? 0;
    for (let at = 0; at < rowCount;) {
      const block = await table.rows.blockAt(runId, at);
      if (block === undefined)
        throw new Refusal('result_expired', `The results of ${runId} were deleted meanwhile.`);
      yield block.rows as readonly Row[];
      at = block.firstRow + block.rows.length;
      await pause();
    }
  }
}
