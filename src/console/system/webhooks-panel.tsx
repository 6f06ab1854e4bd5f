import { useState } from 'preact/hooks';
import type { WebhookDelivery, WebhookEndpoint } from '../../clients/typescript/types/webhooks.js';
import { ago } from '../parts/format.js';
import { useLoaded } from '../parts/load.js';
import { Await, Failure } from '../parts/notice.js';
import { PlainTable } from '../parts/plain-table.js';
import { gloaming } from '../server/server.js';

const ENDPOINTS_SHOWN = 100;
const DELIVERIES_SHOWN = 20;
/** Most receivers answer within this time. */
const ANSWERED_MS = 1_000;

/** Lists the webhook endpoints. */
export function WebhooksPanel() {
  const loaded = useLoaded(
    async (signal) =>
      (await gloaming.call('webhooks.endpoints.list', { query: { limit: ENDPOINTS_SHOWN }, signal })).data,
    [],
  );
  return (
    <section>
      <h2>Webhooks</h2>
      <Await loaded={loaded}>
        {(endpoints) =>
          endpoints.length === 0 ? (
            <p class="muted">
              No endpoints yet. <code>POST /v1/webhooks/endpoints</code> adds one.
            </p>
          ) : (
            endpoints.map((endpoint) => <Endpoint key={endpoint.id} endpoint={endpoint} />)
          )
        }
      </Await>
    </section>
  );
}

/** An endpoint with its latest deliveries. Each delivery can be sent again. */
function Endpoint({
  endpoint: { id, url, status, disabled_reason: why },
}: {
  readonly endpoint: WebhookEndpoint;
}) {
  const [round, setRound] = useState(0);
  const [failure, setFailure] = useState<Error>();
  const loaded = useLoaded(
    async (signal) => {
      const query = { endpoint_id: id, limit: DELIVERIES_SHOWN };
      return (await gloaming.call('webhooks.deliveries.list', { query, signal })).data;
    },
    [id, round],
  );
  const redeliver = async (deliveryId: string): Promise<void> => {
    await gloaming.call('webhooks.deliveries.redeliver', { params: { delivery_id: deliveryId } });
    await new Promise((resolve) => setTimeout(resolve, ANSWERED_MS));
    setRound(round + 1);
  };
  return (
    <article aria-label={`Deliveries to ${url}`}>
      <h3>
        {url}{' '}
        <span class="muted">{why === undefined ? status : `${status}: ${why.replaceAll('_', ' ')}`}</span>
      </h3>
      {failure !== undefined && <Failure error={failure} />}
      <Await loaded={loaded}>
        {(deliveries) =>
          deliveries.length === 0 ? (
            <p class="muted">No deliveries yet.</p>
          ) : (
            <Deliveries
              deliveries={deliveries}
              onRedeliver={(each) => void redeliver(each).catch(setFailure)}
            />
          )
        }
      </Await>
    </article>
  );
}

interface DeliveriesProps {
  readonly deliveries: readonly WebhookDelivery[];
  readonly onRedeliver: (deliveryId: string) => void;
}

function Deliveries({ deliveries, onRedeliver }: DeliveriesProps) {
  return (
    <PlainTable head={['Event', 'State', 'Attempts', 'Last answer', 'Created', 'Again']}>
      {deliveries.map((delivery) => (
        <tr key={delivery.id}>
          <td>
            <code>{delivery.event_id}</code>
          </td>
          <td>{delivery.status}</td>
          <td>{delivery.attempt_count}</td>
          <td>{delivery.last_error ?? delivery.response_status_code ?? ''}</td>
          <td>{ago(delivery.created_at)}</td>
          <td>
            {delivery.status !== 'pending' && (
              <button type="button" class="button quiet small" onClick={() => onRedeliver(delivery.id)}>
                Send again
              </button>
            )}
          </td>
        </tr>
      ))}
    </PlainTable>
  );
}
