import type { Appliance } from '../../appliance.js';
import { foundHomologs, type SelfCheck } from '../../demo/check.js';
import { DEMO_SLUG } from '../../demo/demo.js';
import { EXAMPLE_LARGEST_E, type Example } from '../../demo/example.js';
import { SIMULATED_SLUG } from '../../demo/simulated.js';
import { newId } from '../../ids.js';
import type { RequestContext } from '../../services/context.js';

/** Organization of the demo key, of the self-check and of the browser that the start's link signs in. */
export const DEMO_ORGANIZATION = 'default';

/** Limit of the example search: the nearest half of the demo. Recorded finds are counted among these candidates. */
const EXAMPLE_CANDIDATES = 1_000;

/**
 * Runs the example search and compares its finds with those that a bench has recorded.
 * Errors  those of the search
 */
export async function checkByExample(
  { homology, servedFrom }: Pick<Appliance, 'homology' | 'servedFrom'>,
  { id: queryId, title, sequence, finds, blastpCount }: Example,
): Promise<string> {
  const { value } = await homology.search(
    {
      query: { kind: 'protein_sequence', sequence },
      database: DEMO_SLUG,
      limit: EXAMPLE_CANDIDATES,
      evidence: 'candidate_measurement',
      guarantee: 'exhaustive',
      significance: 'if_available',
    },
    contextOfCheck(),
  );
  const { searched_target_count: searched } = value.database;
  const took = `in ${value.performance.search_execution_ms} ms`;
  const subject = `Self-check on ${servedFrom}: ${title} against ${searched} real proteins`;
  if (
    value.candidates.every(({ significance }) => significance.measurements.expected_false_hits === undefined)
  ) {
    return `${subject}, ${took}. E-values follow within a minute: the demo is being calibrated.`;
  }
  const homologs = value.candidates.filter(({ target, significance }) => {
    const e = significance.measurements.expected_false_hits;
    return target.id !== queryId && e !== undefined && e <= EXAMPLE_LARGEST_E;
  });
  const ids = new Set(homologs.map(({ target }) => target.id));
  const homologCount = finds.filter((id) => ids.has(id)).length;
  return (
    `${subject} found ${homologs.length} homologs with E ≤ ${EXAMPLE_LARGEST_E}, ${homologCount} of the ` +
    `${finds.length} expected, ${took}. BLASTP finds ${blastpCount} of these.`
  );
}

/**
 * Runs the first search, with a simulated protein whose true homologs are known.
 * Errors  those of the search
 */
export async function checkBySimulation(
  { homology, servedFrom }: Pick<Appliance, 'homology' | 'servedFrom'>,
  check: SelfCheck,
): Promise<string> {
  const { value } = await homology.search(
    {
      query: { kind: 'protein_sequence', sequence: check.query.sequence },
      database: SIMULATED_SLUG,
      limit: check.homologs.length + 1,
      evidence: 'candidate_measurement',
      guarantee: 'exhaustive',
      significance: 'not_requested',
    },
    contextOfCheck(),
  );
  const homologCount = foundHomologs(
    check,
    value.candidates.map(({ target }) => target.id),
  );
  const { searched_target_count: searched } = value.database;
  return (
    `Self-check on ${servedFrom}: the first search found ${homologCount} of ${check.homologs.length} true homologs ` +
    `of ${check.query.id} among ${searched} simulated proteins, in ${value.performance.search_execution_ms} ms.`
  );
}

function contextOfCheck(): RequestContext {
  return {
    requestId: newId('req'),
    organizationId: DEMO_ORGANIZATION,
    keyId: 'local',
    signal: new AbortController().signal,
    receivedAtMs: performance.now(),
  };
}
