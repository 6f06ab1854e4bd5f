import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { openAppliance, type Appliance } from '../../appliance.js';
import { canonicalJson, sha256Hex } from '../../canonical.js';
import { loadConfig } from '../../config.js';
import { SEARCH_SETTINGS } from '../../contract/search/homology.js';
import { Refusal } from '../../errors.js';
import { RETAINED_MAX_CANDIDATES } from '../../limits.js';
import { planSearch, referencePolicyId } from '../../search/plan.js';
import { search } from '../../search/search.js';
import type { SearchEngine, SearchPlan, SearchRequest } from '../../search/search-types.js';
import { ReceiptTable } from '../../store/tables/receipts.js';
import type { CommandContext } from '../terminal/command.js';

/** The members of a receipt that are needed to compute it again; services/search/receipts.ts writes them. */
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
  readonly parameters: Pick<SearchRequest, 'evidence' | 'guarantee' | 'limit' | 'relatives' | 'significance'>;
  readonly target_space: { readonly id: string; readonly canonical_filter: unknown } | null;
}

/** `gloaming verify <receipt>`: computes a result again and compares. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('verify')
    .description('compute the result of a receipt again and compare')
    .argument('<receipt>', 'receipt id (rcpt_…) of this appliance, or a JSON file with its content')
    .action((receipt: string) => verify(receipt, context));
}

async function verify(named: string, context: CommandContext): Promise<void> {
  const appliance = await openAppliance(loadConfig(context.environment));
  try {
    const content = await readReceipt(named, appliance);
    const engine = await appliance.engines.open(releaseOf(content, appliance));
    const request = requestOf(content, engine, appliance);
    const plan = planSearch(engine, request);
    refuseOtherPolicy(content, plan);
    const result = await search(request, engine, undefined, plan);
    const isTokensEqual = result.queryTokensSha256 === content.query.tokens_sha256;
    if (result.resultSha256 === content.result_sha256) {
      context.stdout.write(`Verified: ${content.result_sha256} was found again, bit for bit.\n`);
      return;
    }
    throw new Refusal(
      'receipt_differs',
      `The result differs: the receipt has ${content.result_sha256}, now it is ${result.resultSha256}. ` +
        (isTokensEqual
          ? 'The query was encoded to the same tokens, so release, kernels or receipt were changed.'
          : 'The query was encoded to other tokens: the encoder runs on another processor or runtime here.'),
    );
  } finally {
    await appliance.close();
  }
}

async function readReceipt(named: string, { store }: Appliance): Promise<ReceiptContent> {
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

/** A file may hold anything: each member that is used is looked at. */
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
    (space === null || (isObject(space) && hasTexts(space, ['id']) && 'canonical_filter' in space))
  );
}

const ASKED = ['evidence', 'guarantee', 'significance'] as const;

function isHomologs(value: unknown): boolean {
  return SEARCH_SETTINGS.relatives.enum.includes(value);
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

/** A file holds the receipt's content, or what GET /v1/receipts/{id} answered. */
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

function releaseOf({ release_id: releaseId }: ReceiptContent, { releases }: Appliance): string {
  if (releases.holders(releaseId).length > 0) return releaseId;
  throw new Refusal('release_not_found', `The receipt's release ${releaseId} is not on this appliance.`);
}

/** A policy that is offered no more cannot be followed again; the reference policy always can. */
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
  { targetSpaces }: Appliance,
): SearchRequest {
  return {
    ...parameters,
    // What the reference policy answered in the place of an approximate one, it answers again.
    guarantee: policyId === referencePolicyId(release.manifest) ? 'exhaustive' : parameters.guarantee,
    query: { sequence: query.sequence, normalizationId: query.normalization_id },
    targetSpace:
      space === null
        ? targetSpaces.unfiltered(release)
        : targetSpaces.reopen(release, space.canonical_filter),
  };
}
