import { loadPrices } from '../config.js';
import { Budgets } from '../services/billing/budgets.js';
import { Metering } from '../services/billing/metering.js';
import { Pricing } from '../services/billing/pricing.js';
import type { Foundation } from './foundation.js';

/** Prices, usage and budgets. */
export interface BillingCapability {
  readonly budgets: Budgets;
  readonly metering: Metering;
  readonly pricing: Pricing;
}

export function composeBilling({ config, tables: { usage }, world }: Foundation): BillingCapability {
  const prices = loadPrices(config.packageFolder);
  return {
    budgets: new Budgets(config.budgets, prices, usage),
    metering: new Metering(usage, world.now, world),
    pricing: new Pricing(prices, usage),
  };
}
