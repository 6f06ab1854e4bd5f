import type { Pricing } from '../../services/billing/pricing.js';
import type { HandlersOf } from './handler.js';

export interface BillingServices {
  readonly pricing: Pricing;
}

export function pricingHandlers({ pricing }: BillingServices): HandlersOf<'models'> {
  return {
    'models.pricing.estimate': async ({ body }, context) => pricing.estimate(body, context),
  };
}
