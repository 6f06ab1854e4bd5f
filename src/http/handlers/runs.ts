import type { Budgets } from '../../services/billing/budgets.js';
import { TSV_TYPE } from '../../services/export/formats.js';
import type { Runs } from '../../services/runs/runs.js';
import type { HandlersOf } from './handler.js';

export interface RunServices {
  readonly runs: Runs;
  readonly budgets: Budgets;
}

export function runHandlers({ runs, budgets }: RunServices): HandlersOf<'runs'> {
  return {
    'runs.create': async ({ body, headers }, context) => {
      budgets.requireFunds(context.organizationId);
      return runs.create(body, headers, context);
    },
    'runs.list': async ({ query }, context) => runs.list(query, context),
    'runs.get': ({ params, headers }, context) => runs.get(params.run_id, headers, context),
    'runs.cancel': ({ params }, context) => runs.cancel(params.run_id, context),
    'runs.results.list': ({ params, query, mediaType }, context) =>
      mediaType === TSV_TYPE
        ? runs.resultTable(params.run_id, query, context)
        : runs.results(params.run_id, query, context),
    'runs.events.stream': async ({ params, headers }, context) =>
      runs.events(params.run_id, headers['Last-Event-ID'], context),
  };
}
