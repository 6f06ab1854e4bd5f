import { Type, type Static } from '@sinclair/typebox';
import { SCHEMA_URL } from './grammar/envelope.js';
import { defineRoute } from './grammar/route.js';
import { closed, enumeration, named, quantity, text } from './grammar/schema.js';

/** Calls or units of one endpoint. The bound keeps products exact decimals of moderate length. */
const QUANTITY = { minimum: 0, maximum: 1_000_000_000_000 } as const;

const EndpointQuantity = closed(
  {
    call_quantity: Type.Optional(
      Type.Integer({
        ...QUANTITY,
        description: 'Number of successful calls to estimate, for `historical_api_price`.',
      }),
    ),
    unit_quantity: Type.Optional(
      Type.Integer({
        ...QUANTITY,
        description: 'Number of output units to estimate, for `unit_price`.',
        chosen: true,
      }),
    ),
  },
  { minProperties: 1 },
);

export const PricingEstimateRequest = named(
  'PricingEstimateRequest',
  closed({
    endpoints: Type.Record(Type.String({ minLength: 1, maxLength: 128 }), EndpointQuantity, {
      minProperties: 1,
      maxProperties: 64,
      description:
        'Quantities by endpoint, under the names of billed usage: `homology.search`, `homology.batch_search` …',
    }),
    estimate_type: enumeration({
      historical_api_price:
        "call_quantity × the organization's mean units per successful call × the unit price",
      unit_price: 'unit_quantity × the unit price',
    }),
  }),
);

export const PricingEstimate = named(
  'PricingEstimate',
  closed({
    currency: text('ISO 4217 code.', { pattern: '^[A-Z]{3}$' }),
    estimate_type: enumeration({
      historical_api_price: 'from the usage of the organization',
      unit_price: 'from explicit output units',
    }),
    total_cost: quantity('Sum over the endpoints. Unit: `currency`.', { minimum: 0 }),
    $schema: SCHEMA_URL,
  }),
);

export const estimatePricing = defineRoute({
  operationId: 'models.pricing.estimate',
  method: 'POST',
  retry: 'same',
  path: '/v1/models/pricing/estimate',
  tag: 'pricing',
  summary: 'Estimate the cost of calls',
  description:
    "Estimates cost from explicit output units, or from the organization's historical average cost per successful " +
    'call. The estimate is decimal arithmetic with the prices that the operator configured.',
  body: PricingEstimateRequest,
  success: { status: 200, schema: PricingEstimate, description: 'The estimate.' },
  successStyle: 'bare',
  errorStyle: 'envelope_only',
  work: 'light',
  refusals: ['pricing_endpoint_unknown', 'pricing_quantity_missing', 'pricing_history_missing'],
});

export type PricingEstimateRequest = Static<typeof PricingEstimateRequest>;
export type PricingEstimate = Static<typeof PricingEstimate>;
