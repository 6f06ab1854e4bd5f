import Big from 'big.js';
import type { Prices } from '../../config.js';
import type { PricingEstimate, PricingEstimateRequest } from '../../contract/pricing.js';
import { Refusal } from '../../errors.js';
import { faultAt, placeText } from '../../places.js';
import type { UsageTable } from '../../store/tables/usage.js';
import type { RequestContext } from '../context.js';
import type { Reply } from '../reply.js';

/** The estimate without `$schema`, which the HTTP shell adds because it has the address. */
type Estimate = Omit<PricingEstimate, '$schema'>;

/** Estimates the cost of calls. */
export class Pricing {
  readonly #prices: Prices;
  readonly #usage: Pick<UsageTable, 'totals'>;

  constructor(prices: Prices, usage: Pick<UsageTable, 'totals'>) {
    this.#prices = prices;
    this.#usage = usage;
  }

  /** Errors  Refusal `pricing_endpoint_unknown`, `pricing_quantity_missing`, `pricing_history_missing` */
  estimate(
    { endpoints, estimate_type: type }: PricingEstimateRequest,
    { organizationId }: RequestContext,
  ): Reply<Estimate> {
    const { currency, unit_prices: unitPrices } = this.#prices;
    requireKnown(endpoints, this.#prices);
    requireQuantities(endpoints, type);
    const costs = Object.entries(endpoints).map(([endpoint, quantity]) => {
      const units =
        type === 'unit_price'
          ? new Big(quantity.unit_quantity ?? 0)
          : unitsPerCall(endpoint, organizationId, this.#usage).times(quantity.call_quantity ?? 0);
      return units.times(unitPrices[endpoint]);
    });
    const total = costs.reduce((sum, cost) => sum.plus(cost), new Big(0));
    return { value: { currency, estimate_type: type, total_cost: total.toNumber() } };
  }
}

function requireKnown(endpoints: PricingEstimateRequest['endpoints'], { unit_prices: prices }: Prices): void {
  const names = Object.keys(prices);
  const message = `is no priced endpoint; there are ${names.join(', ')}`;
  const errors = Object.entries(endpoints)
    .filter(([endpoint]) => !Object.hasOwn(prices, endpoint))
    .map(([endpoint, value]) =>
      faultAt(['body', 'endpoints', endpoint], message, { value, bounds: { enum: names } }),
    );
  if (errors.length === 0) return;
  throw new Refusal('pricing_endpoint_unknown', 'Some endpoints have no price.', { errors });
}

function requireQuantities(
  endpoints: PricingEstimateRequest['endpoints'],
  type: PricingEstimateRequest['estimate_type'],
): void {
  const member = type === 'unit_price' ? 'unit_quantity' : 'call_quantity';
  const errors = Object.entries(endpoints)
    .filter(([, quantity]) => quantity[member] === undefined)
    .map(([endpoint]) =>
      faultAt(['body', 'endpoints', endpoint, member], `is required for the estimate type ${type}`),
    );
  if (errors.length === 0) return;
  throw new Refusal('pricing_quantity_missing', `The estimate type ${type} needs ${member}.`, { errors });
}

/** Mean units of one successful call of this organization. */
function unitsPerCall(endpoint: string, organizationId: string, usage: Pick<UsageTable, 'totals'>): Big {
  const { calls, units } = usage.totals(organizationId, endpoint);
  if (calls > 0) return new Big(units).div(calls);
  throw new Refusal(
    'pricing_history_missing',
    `The organization has no successful call of ${endpoint} yet, so there is no history to estimate from. ` +
      'Ask with estimate_type "unit_price".',
    { param: placeText(['endpoints', endpoint]) },
  );
}
