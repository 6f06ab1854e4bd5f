import { RUN_WAIT_MAX_SECONDS } from '../../limits.js';

/** Seconds of `Prefer: wait=N`, bounded; 0 for `respond-async` alone. Source  RFC 7240, sections 4.1 and 4.3 */
export function waitOf(prefer: string | undefined): number | undefined {
  const preferences = (prefer ?? '').split(',').map((part) => part.trim().toLowerCase());
  const wait = preferences.map((part) => /^wait\s*=\s*"?(\d{1,6})"?$/.exec(part)?.[1]).find(Boolean);
  if (wait !== undefined) return Math.min(Number(wait), RUN_WAIT_MAX_SECONDS);
  return preferences.includes('respond-async') ? 0 : undefined;
}

/** What was heard of the preference. */
export function preferenceApplied(prefer: string | undefined, waitSeconds: number): Record<string, string> {
  if (waitOf(prefer) === undefined) return {};
  return { 'Preference-Applied': waitSeconds === 0 ? 'respond-async' : `wait=${waitSeconds}` };
}
