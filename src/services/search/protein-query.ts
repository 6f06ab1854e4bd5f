import { Refusal } from '../../errors.js';
import type { ProteinQuery, QueryRange } from '../../search/search-types.js';
import { refuseRange } from '../../search/refusals.js';
import { normaliseProtein } from '../../sequence/protein.js';

/**
 * Reads and normalises the query of a request.
 * @param range  residues that are searched alone, if any
 * Errors  Refusal `query_range_invalid`; those of normaliseProtein, with `query.sequence` as the invalid member
 */
export function readProteinQuery(text: string, range?: QueryRange): ProteinQuery {
  const query = normalised(text);
  if (range !== undefined) refuseRange(query, range);
  return query;
}

function normalised(text: string): ProteinQuery {
  try {
    const { sequence, normalizationId } = normaliseProtein(text);
    return { sequence, normalizationId };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(error.code, error.message, { ...error.details, param: 'query.sequence' });
  }
}
