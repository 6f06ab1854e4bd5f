// Written by config/client-types.mjs from config/openapi.json.

export interface PricingEstimateRequest {
  /** Quantities by endpoint, as usage names it: `homology.search`, `homology.batch_search` … */
  readonly endpoints: Readonly<
    Record<
      string,
      {
        /** Successful calls to estimate; for `historical_api_price`. */
        readonly call_quantity?: number;
        /** Output units to estimate; for `unit_price`. */
        readonly unit_quantity?: number;
      }
    >
  >;
  /**
   * - `historical_api_price`: call_quantity × the organization's mean units per successful call ×
   * the unit price
   * - `unit_price`: unit_quantity × the unit price
   */
  readonly estimate_type: 'historical_api_price' | 'unit_price';
}

export interface PricingEstimate {
  /** ISO 4217 code. */
  readonly currency: string;
  /**
   * - `historical_api_price`: from the organization's own usage
   * - `unit_price`: from explicit output units
   */
  readonly estimate_type: 'historical_api_price' | 'unit_price';
  /** Sum over the endpoints. Unit: `currency`. */
  readonly total_cost: number;
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
}
