import { Refusal } from '../../errors.js';
import type { ProteinQuery } from '../../search/search-types.js';
import { normaliseProtein } from '../../sequence/protein.js';

/**
 * Reads and normalises the query of a request.
 * Errors  the refusals of normaliseProtein, with `query.sequence` as the invalid member
 */
export function readProteinQuery(text: string): ProteinQuery {
  try {
    const { sequence, normalizationId } = normaliseProtein(text);
    return { sequence, normalizationId };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(error.code, error.message, { ...error.details, param: 'query.sequence' });
  }
}
