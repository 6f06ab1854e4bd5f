import type { SearchRunSummary } from '../../contract/runs/run-kinds.js';
import { search } from '../../search/search.js';
import type { ProteinQuery } from '../../search/search-types.js';
import { presentWalk } from '../search/present-propagation.js';
import { requestedPropagation } from '../search/propagation.js';
import { readProteinQuery } from '../search/protein-query.js';
import { presentExecuted } from '../search/present-search.js';
import type { Receipts } from '../search/receipts.js';
import { resolveSearch, type ResolveDependencies } from '../search/resolve-search.js';
import { searchTraces, toolsOf } from '../search/traces.js';
import { defineRunKind, type RunKind } from '../runs/run-kind.js';
import { acceptSearch, reopenSearch, withinCutOffs, type AcceptedSearch } from './plan.js';

export interface SearchRunDependencies extends ResolveDependencies {
  readonly receipts: Receipts;
  readonly serverVersion: string;
  readonly now: () => Date;
}

interface Plan extends AcceptedSearch {
  readonly query: ProteinQuery;
}

/** `homology.search`: the work of the direct route as a run, with up to 10,000 stored candidates. */
export function searchRuns(dependencies: SearchRunDependencies): RunKind {
  return defineRunKind<'homology.search', Plan>({
    key: 'homology.search',
    async prepare(input, context) {
      const query = readProteinQuery(input.query.sequence, input.query_range);
      const resolved = await resolveSearch(input, context, dependencies);
      const plan = { ...(await acceptSearch(resolved, input, [query.sequence.length])), query };
      return { plan, totalCount: 1, traces: searchTraces(input, resolved) };
    },
    // One query is one piece of work, so there is no piece before the end.
    async *execute({ query, ...plan }, { context }) {
      const { release, engine, settings } = await reopenSearch(plan, context, dependencies);
      const request = { ...settings, query };
      const propagation = await requestedPropagation(plan.propagation, settings, engine);
      const result = await search(request, engine, context.signal);
      const createdAt = dependencies.now().toISOString();
      const receipt = await dependencies.receipts.issue(engine, request, { result }, context);
      const searched = {
        database: release,
        engine,
        request,
        result,
        serverVersion: dependencies.serverVersion,
      };
      const executed = await presentExecuted(searched, createdAt, receipt);
      const walked = {
        sequence: query.sequence,
        candidates: result.candidates,
        targetSpace: settings.targetSpace,
      };
      const whole = {
        ...executed,
        ...(propagation && { propagation: presentWalk(walked, engine, propagation) }),
      };
      const { candidates: rows, ...answer } = withinCutOffs(whole, plan.cutOffs);
      const summary: SearchRunSummary = { object: 'homology_search_summary', ...answer };
      const traces = { toolVersions: toolsOf(engine, result.kernelRetry?.servedBy) };
      return { rows, doneCount: 1, summarise: () => summary, billableUnits: 1, traces };
    },
  });
}
