import Big from 'big.js';
import type { Prices } from '../../config.js';
import { Refusal } from '../../errors.js';
import type { UsageTable } from '../../store/tables/usage.js';

/** What organizations may spend in all. */
export interface Budgets {
  /**
   * Looks before chargeable work begins; work that has begun is finished and billed.
   * Errors  Refusal `budget_exhausted`
   */
  requireFunds(organizationId: string): void;
}

/** @param budgets by organization, in decimal notation and the currency of the prices; others have no bound */
export function createBudgets(
  budgets: Readonly<Record<string, string>>,
  prices: Prices,
  usage: Pick<UsageTable, 'totals'>,
): Budgets {
  return {
    requireFunds(organizationId) {
      if (!Object.hasOwn(budgets, organizationId)) return;
      const budget = new Big(budgets[organizationId]);
      const costs = Object.entries(prices.unit_prices).map(([endpoint, price]) =>
        new Big(price).times(usage.totals(organizationId, endpoint).units),
      );
      const spent = costs.reduce((sum, cost) => sum.plus(cost), new Big(0));
      if (spent.lt(budget)) return;
      throw new Refusal(
        'budget_exhausted',
        `The organization has spent ${spent.toFixed()} of its budget of ${budget.toFixed()} ${prices.currency}. ` +
          'Who runs the server can raise it.',
        { budget: budget.toFixed(), spent: spent.toFixed(), currency: prices.currency },
      );
    },
  };
}
