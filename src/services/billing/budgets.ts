import Big from 'big.js';
import type { Prices } from '../../config.js';
import { Refusal } from '../../errors.js';
import type { UsageTable } from '../../store/tables/usage.js';

/** Upper bounds on the total cost of organizations. */
export class Budgets {
  readonly #budgets: Readonly<Record<string, string>>;
  readonly #prices: Prices;
  readonly #usage: Pick<UsageTable, 'totals'>;

  /** @param budgets by organization, in decimal notation and the currency of the prices; absent = no bound */
  constructor(budgets: Readonly<Record<string, string>>, prices: Prices, usage: Pick<UsageTable, 'totals'>) {
    this.#budgets = budgets;
    this.#prices = prices;
    this.#usage = usage;
  }

  /**
   * Checks the budget before chargeable work starts. Work that has started is finished and billed.
   * Errors  Refusal `budget_exhausted`
   */
  requireFunds(organizationId: string): void {
    if (!Object.hasOwn(this.#budgets, organizationId)) return;
    const budget = new Big(this.#budgets[organizationId]);
    const spent = this.#spentBy(organizationId);
    if (spent.lt(budget)) return;
    const { currency } = this.#prices;
    throw new Refusal(
      'budget_exhausted',
      `The organization has spent ${spent.toFixed()} of its budget of ${budget.toFixed()} ${currency}. ` +
        'Who runs the server can raise it.',
      { budget: budget.toFixed(), spent: spent.toFixed(), currency },
    );
  }

  #spentBy(organizationId: string): Big {
    return Object.entries(this.#prices.unit_prices)
      .map(([endpoint, price]) => new Big(price).times(this.#usage.totals(organizationId, endpoint).units))
      .reduce((sum, cost) => sum.plus(cost), new Big(0));
  }
}
