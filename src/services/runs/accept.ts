import { joinInTurns } from '../../buffers.js';
import { canonicalSha256InTurns } from '../../canonical.js';
import type { RunRequest } from '../../contract/runs/runs.js';
import { assert, Refusal, refusalInside } from '../../errors.js';
import { jsonInTurns } from '../../json/pieces.js';
import { packBytes } from '../../store/tables/run-rows.js';
import type { RunRow, RunTable } from '../../store/tables/runs.js';
import { realWorld, type World } from '../../world.js';
import type { RequestContext } from '../context.js';
import type { RunKind } from './run-kind.js';

export interface AcceptDependencies {
  readonly table: RunTable;
  readonly now: () => Date;
  /** Default realWorld. */
  readonly world?: World;
  /** Errors  Refusal if the webhook endpoint cannot get the run's end */
  readonly requireWebhookEndpoint: (id: string, context: RequestContext) => void;
}

/**
 * Prepares and stores a run. @param onAccepted called inside the transaction
 * Errors  the refusals of the kind, those of the webhook endpoint, `queue_full`, `run_storage_full`
 */
export async function acceptRun(
  request: RunRequest,
  onAccepted: (run: RunRow) => void,
  context: RequestContext,
  kinds: ReadonlyMap<string, RunKind>,
  { table, now, world = realWorld, requireWebhookEndpoint }: AcceptDependencies,
): Promise<RunRow> {
  const kind = kinds.get(request.endpoint);
  assert(kind !== undefined, 'every kind of run in the contract is registered');
  const { webhook_endpoint_id: webhookEndpointId } = request;
  if (webhookEndpointId !== undefined) requireWebhookEndpoint(webhookEndpointId, context);
  const { plan, totalCount, traces } = await prepare(kind, request, context);
  const created = await table.create(
    {
      id: world.newId('run'),
      organizationId: context.organizationId,
      keyId: context.keyId,
      requestId: context.requestId,
      endpoint: request.endpoint,
      ...(request.label !== undefined && { label: request.label }),
      priority: request.priority,
      isBackground: request.background,
      ...(webhookEndpointId !== undefined && { webhookEndpointId }),
      inputSha256: await canonicalSha256InTurns(request.input),
      createdAt: now().toISOString(),
      totalCount,
      traces,
    },
    await world.aside(packPlan(plan)),
    onAccepted,
  );
  if (created.status === 'created') return created.run;
  if (created.status === 'storage_full') {
    throw new Refusal(
      'run_storage_full',
      'No further run of the organization can be stored until older ones expire.',
      {
        retryAfterSeconds: 3600,
      },
    );
  }
  const whose = created.status === 'organization_full' ? 'of the organization ' : '';
  throw new Refusal('queue_full', `Too many runs ${whose}are queued or running; wait for some to end.`, {
    retryAfterSeconds: 30,
    policy: { name: 'queue', quota: created.quota, quota_unit: 'concurrent-requests' },
  });
}

async function packPlan(plan: unknown): Promise<Buffer> {
  return packBytes(await joinInTurns(await jsonInTurns(plan)));
}

/** Refusals of a kind concern `input` of the request. This function prefixes their paths. Errors  those of the kind */
async function prepare(
  kind: RunKind,
  { input }: RunRequest,
  context: RequestContext,
): ReturnType<RunKind['prepare']> {
  try {
    return await kind.prepare(input, context);
  } catch (error) {
    throw error instanceof Refusal ? refusalInside(error, 'input') : error;
  }
}
