import type { Survey } from '../../search/parts/survey.js';
import { readJson } from './plan.js';

/** A survey as it travels between tasks: arrays as base64 of little-endian int32. */
interface WrittenSurvey {
  readonly tokens: string;
  readonly targets: string;
  readonly query_to_target: string;
  readonly target_to_query: string;
  readonly excess?: string;
}

export function surveysText(surveys: readonly Survey[]): string {
  const written = surveys.map(
    ({ queryTokensSha256, targets, queryToTarget, targetToQuery, queryExcess }): WrittenSurvey => ({
      tokens: queryTokensSha256,
      targets: encoded(targets),
      query_to_target: encoded(queryToTarget),
      target_to_query: encoded(targetToQuery),
      ...(queryExcess !== undefined && { excess: encoded(queryExcess) }),
    }),
  );
  return JSON.stringify(written);
}

/** The surveys of a file that a task has published, query by query. Errors  Fault where it is damaged */
export async function readSurveys(path: string): Promise<readonly Survey[]> {
  const surveys = await readJson<readonly WrittenSurvey[]>(path);
  return surveys.map((written) => ({
    queryTokensSha256: written.tokens,
    targets: new Uint32Array(decoded(written.targets)),
    queryToTarget: new Int32Array(decoded(written.query_to_target)),
    targetToQuery: new Int32Array(decoded(written.target_to_query)),
    ...(written.excess !== undefined && { queryExcess: new Int32Array(decoded(written.excess)) }),
  }));
}

function encoded({ buffer, byteOffset, byteLength }: Int32Array | Uint32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

function decoded(text: string): ArrayBuffer {
  // A copy, because a pooled buffer need not start where an int32 may.
  return Uint8Array.from(Buffer.from(text, 'base64')).buffer;
}
