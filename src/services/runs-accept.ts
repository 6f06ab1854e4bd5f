import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { canonicalJson } from '../canonical.js';
import type { RunRequest } from '../contract/runs.js';
import { Refusal } from '../errors.js';
import { newId } from '../ids.js';
import { packBytes } from '../store/run-rows.js';
import type { CreatedRun, RunRow, RunTable } from '../store/runs.js';
import type { RequestContext } from './context.js';
import type { AnyRunEndpoint, RunEndpoint } from './runs-endpoints.js';

/** Prepares and stores a run. Errors  the refusals of the endpoint, `queue_full`, `run_storage_full` */
export async function acceptRun(
  request: RunRequest,
  idempotencyKey: string | undefined,
  context: RequestContext,
  endpoints: ReadonlyMap<string, AnyRunEndpoint>,
  { table, now }: { readonly table: RunTable; readonly now: () => Date },
): Promise<Extract<CreatedRun, { readonly run: RunRow }>> {
  const endpoint = endpoints.get(request.endpoint) as unknown as RunEndpoint;
  const { plan, totalCount } = await endpoint.prepare(request.input, context);
  const created = await table.create(
    {
      id: newId('run'),
      organizationId: context.organizationId,
      keyId: context.keyId,
      requestId: context.requestId,
      endpoint: request.endpoint,
      ...(request.label !== undefined && { label: request.label }),
      priority: request.priority,
      isBackground: request.background,
      inputSha256: await inputSha256(request.input),
      createdAt: now().toISOString(),
      totalCount,
    },
    await packBytes(Buffer.from(JSON.stringify(plan))),
    idempotencyKey,
  );
  if ('run' in created) return created;
  if (created.status === 'storage_full') {
    throw new Refusal('run_storage_full', 'No further run can be kept until older ones expire.', {
      retryAfterSeconds: 3600,
    });
  }
  const whose = created.status === 'organization_full' ? 'of the organization ' : '';
  throw new Refusal('queue_full', `Too many runs ${whose}are queued or at work; wait for some to end.`, {
    retryAfterSeconds: 30,
    policy: { name: 'queue', quota: created.quota, quota_unit: 'concurrent-requests' },
  });
}

/** SHA-256 of the canonical JSON (RFC 8785); long lists are written piece by piece, so that others get their turn. */
async function inputSha256(input: Readonly<Record<string, unknown>>): Promise<string> {
  const hash = createHash('sha256').update('{');
  for (const [order, name] of Object.keys(input).sort().entries()) {
    hash.update(`${order === 0 ? '' : ','}${canonicalJson(name)}:`);
    const value = input[name];
    if (!Array.isArray(value)) hash.update(canonicalJson(value));
    else {
      for (let start = 0; start < value.length; start += ELEMENTS_PER_PAUSE) {
        const piece = canonicalJson(value.slice(start, start + ELEMENTS_PER_PAUSE)).slice(1, -1);
        hash.update(`${start === 0 ? '[' : ','}${piece}`);
        await setImmediate();
      }
      hash.update(value.length === 0 ? '[]' : ']');
    }
  }
  return hash.update('}').digest('hex');
}

const ELEMENTS_PER_PAUSE = 500;
