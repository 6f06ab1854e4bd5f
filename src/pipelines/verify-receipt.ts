import { readFile } from 'node:fs/promises';
import { canonicalJson, sha256Hex } from '../canonical.js';
import { SEARCH_SETTINGS } from '../contract/search/homology.js';
import type { Engines } from '../engine/engines.js';
import { Refusal } from '../errors.js';
import { RETAINED_MAX_CANDIDATES } from '../limits.js';
import type { ReleaseManifest } from '../release/release.js';
import { planSearch, referencePolicyId } from '../search/plan.js';
import { search } from '../search/search.js';
import type { QueryRange, SearchEngine, SearchPlan, SearchRequest } from '../search/search-types.js';
import type { TargetSpaces } from '../services/search/target-spaces.js';
import type { ControlStore } from '../store/control-store.js';
import { ReceiptTable } from '../store/tables/receipts.js';
import type { ReleaseTable } from '../store/tables/releases.js';

/** The appliance that a receipt is verified on. */
export interface ReceiptPlace {
  readonly store: ControlStore;
  readonly releases: ReleaseTable<ReleaseManifest>;
  readonly engines: Engines;
  readonly targetSpaces: TargetSpaces;
}

/** Members of a receipt that the search needs; services/search/receipts.ts writes them. */
interface ReceiptContent {
  readonly format: string;
  readonly policy_id: string;
  readonly release_id: string;
  readonly result_sha256: string;
  readonly query: {
    readonly sequence: string;
    readonly normalization_id: string;
    readonly tokens_sha256: string;
  };
  readonly parameters: Pick<
    SearchRequest,
    'evidence' | 'guarantee' | 'limit' | 'relatives' | 'significance'
  > & {
    readonly query_range?: QueryRange;
  };
  readonly target_space: { readonly id: string; readonly canonical_filter: unknown } | null;
}

/**
 * Repeats the search of a receipt and compares the digests of the results. Returns the digest, which is equal.
 * @param named  id of a stored receipt (`rcpt_…`), or path of a JSON file with its content
 * Errors  Refusal `receipt_not_found`, `invalid_receipt`, `release_not_found`, `receipt_differs`; those of searching
 */
export async function verifyReceipt(named: string, place: ReceiptPlace): Promise<string> {
  const content = await readReceipt(named, place);
  const engine = await place.engines.open(releaseOf(content, place));
  const request = requestOf(content, engine, place);
  const plan = planSearch(engine, request);
  refuseOtherPolicy(content, plan);
  const result = await search(request, engine, undefined, plan);
  if (result.resultSha256 === content.result_sha256) return content.result_sha256;
  const isTokensEqual = result.queryTokensSha256 === content.query.tokens_sha256;
  throw new Refusal(
    'receipt_differs',
    `The result differs: the receipt has ${content.result_sha256}, now it is ${result.resultSha256}. ` +
      (isTokensEqual
        ? 'The query was encoded to the same tokens, so release, kernels or receipt were changed.'
        : 'The query was encoded to other tokens: the encoder runs on another processor or runtime here.'),
  );
}

async function readReceipt(named: string, { store }: ReceiptPlace): Promise<ReceiptContent> {
  const content = named.startsWith('rcpt_')
    ? new ReceiptTable(store).get(named)?.content
    : await readJson(named);
  if (content === undefined) {
    throw new Refusal('receipt_not_found', `This appliance has no receipt ${named}.`);
  }
  if (named.startsWith('rcpt_') && `rcpt_${sha256Hex(canonicalJson(content))}` !== named) {
    throw new Refusal('receipt_differs', `The stored content of ${named} does not hash to its name.`);
  }
  if ((content as { format?: unknown }).format !== 'gloaming-receipt/1') {
    throw new Refusal('invalid_receipt', `${named} does not hold a receipt of format gloaming-receipt/1.`);
  }
  if (!isReceiptContent(content)) {
    throw new Refusal(
      'invalid_receipt',
      `${named} lacks members that a receipt has, or has others in their place.`,
    );
  }
  return content;
}

/** Checks every member that is read later: a file may hold anything. */
function isReceiptContent(content: unknown): content is ReceiptContent {
  if (!isObject(content)) return false;
  const { query, parameters, target_space: space } = content;
  return (
    hasTexts(content, ['format', 'policy_id', 'release_id', 'result_sha256']) &&
    isObject(query) &&
    hasTexts(query, ['sequence', 'normalization_id', 'tokens_sha256']) &&
    isObject(parameters) &&
    ASKED.every((name) => SEARCH_SETTINGS[name].enum.includes(parameters[name])) &&
    isLimit(parameters['limit']) &&
    (parameters['relatives'] === undefined || isHomologs(parameters['relatives'])) &&
    (parameters['query_range'] === undefined || isRange(parameters['query_range'])) &&
    (space === null || (isObject(space) && hasTexts(space, ['id']) && 'canonical_filter' in space))
  );
}

const ASKED = ['evidence', 'guarantee', 'significance'] as const;

function isHomologs(value: unknown): boolean {
  return SEARCH_SETTINGS.relatives.enum.includes(value);
}

function isRange(value: unknown): boolean {
  return isObject(value) && Number.isInteger(value['start']) && Number.isInteger(value['end']);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function hasTexts(value: Readonly<Record<string, unknown>>, names: readonly string[]): boolean {
  return names.every((name) => typeof value[name] === 'string');
}

function isLimit(limit: unknown): boolean {
  return Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= RETAINED_MAX_CANDIDATES;
}

/** Reads the content of a receipt, or an answer of GET /v1/receipts/{id} that holds it. */
async function readJson(path: string): Promise<Record<string, unknown>> {
  const text = await readFile(path, 'utf8').catch((cause: Error) => {
    throw new Refusal('file_not_found', `${path} cannot be read: ${cause.message}`);
  });
  try {
    const value = JSON.parse(text) as { data?: { content?: Record<string, unknown> } } & Record<
      string,
      unknown
    >;
    return value.data?.content ?? value;
  } catch {
    throw new Refusal('invalid_receipt', `${path} is not JSON.`);
  }
}

function releaseOf({ release_id: releaseId }: ReceiptContent, { releases }: ReceiptPlace): string {
  if (releases.holders(releaseId).length > 0) return releaseId;
  throw new Refusal('release_not_found', `The receipt's release ${releaseId} is not on this appliance.`);
}

/** Refuses a receipt whose policy the release no longer offers. The reference policy is always offered. */
function refuseOtherPolicy(content: ReceiptContent, { policy: { id } }: SearchPlan): void {
  if (id === content.policy_id) return;
  throw new Refusal(
    'receipt_differs',
    `The receipt's search followed the policy ${content.policy_id}, which the release does not offer now; it would ` +
      `follow ${id}. Its approximate policy was qualified again, or its card was not copied with it.`,
  );
}

function requestOf(
  { query, parameters, target_space: space, policy_id: policyId }: ReceiptContent,
  { release }: SearchEngine,
  { targetSpaces }: ReceiptPlace,
): SearchRequest {
  const { query_range: queryRange, ...settings } = parameters;
  return {
    ...settings,
    ...(queryRange && { queryRange }),
    // The reference policy may have answered an approximate request; it answers again.
    guarantee: policyId === referencePolicyId(release.manifest) ? 'exhaustive' : settings.guarantee,
    query: { sequence: query.sequence, normalizationId: query.normalization_id },
    targetSpace:
      space === null
        ? targetSpaces.unfiltered(release)
        : targetSpaces.reopen(release, space.canonical_filter),
  };
}
