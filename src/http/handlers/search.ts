import type { Budgets } from '../../services/billing/budgets.js';
import type { Metering } from '../../services/billing/metering.js';
import type { Pages } from '../../services/pages.js';
import type { Catalog } from '../../services/search/catalog.js';
import type { Homology } from '../../services/search/homology.js';
import type { Receipts } from '../../services/search/receipts.js';
import type { TargetSpaces } from '../../services/search/target-spaces.js';
import type { HandlersOf } from './handler.js';

export interface SearchServices {
  readonly homology: Homology;
  readonly budgets: Budgets;
  readonly metering: Metering;
  readonly catalog: Catalog;
  readonly pages: Pages;
  readonly targetSpaces: TargetSpaces;
  readonly receipts: Receipts;
}

export function homologyHandlers(services: SearchServices): HandlersOf<'homology'> {
  const { homology, budgets, metering, catalog, pages, targetSpaces } = services;
  return {
    'homology.search': async ({ body }, context) => {
      budgets.requireFunds(context.organizationId);
      return metering.bill(await homology.search(body, context), context);
    },
    'homology.target_space_compilations.create': ({ body }, context) => targetSpaces.compile(body, context),
    'homology.databases.list': async ({ query }, { organizationId }) => {
      const databases = catalog.databases(organizationId);
      const page = pages.cut(databases, ({ slug }) => slug, query, [organizationId, 'databases']);
      return { value: page, rowCount: page.data.length };
    },
    'homology.databases.releases.list': async ({ params, query }, { organizationId }) => {
      const rows = catalog.releases(params.database, organizationId);
      const list = [organizationId, 'releases', params.database];
      const page = pages.cut(rows, (row) => `${row.published_at} ${row.id}`, query, list, 'descending');
      return { value: page, rowCount: page.data.length };
    },
  };
}

export function receiptHandlers({ receipts }: Pick<SearchServices, 'receipts'>): HandlersOf<'receipts'> {
  return {
    'receipts.get': async ({ params }, context) => receipts.get(params.receipt_id, context),
  };
}
