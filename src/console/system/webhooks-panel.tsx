import { ago } from '../parts/format.js';
import { useLoaded } from '../parts/load.js';
import { Await } from '../parts/notice.js';
import { gloaming } from '../server/server.js';

const DELIVERIES_SHOWN = 20;

/** Who is told of what has happened, and the latest deliveries. */
export function WebhooksPanel() {
  const loaded = useLoaded(async (signal) => {
    const [endpoints, deliveries] = await Promise.all([
      gloaming.call('webhooks.endpoints.list', { query: { limit: 100 }, signal }),
      gloaming.call('webhooks.deliveries.list', { query: { limit: DELIVERIES_SHOWN }, signal }),
    ]);
    return { endpoints: endpoints.data, deliveries: deliveries.data };
  }, []);
  return (
    <section>
      <h2>Webhooks</h2>
      <Await loaded={loaded}>
        {({ endpoints, deliveries }) => (
          <>
            {endpoints.length === 0 && (
              <p class="muted">
                Nobody is told of events yet. <code>POST /v1/webhooks/endpoints</code> adds a receiver.
              </p>
            )}
            <ul class="plain">
              {endpoints.map(({ id, url, status }) => (
                <li key={id}>
                  <b>{url}</b> <span class="muted">{status}</span>
                </li>
              ))}
            </ul>
            {deliveries.length > 0 && (
              <div class="scroll" tabIndex={0}>
                <table class="plain-table">
                  <thead>
                    <tr>
                      <th>Event</th>
                      <th>State</th>
                      <th>Made</th>
                    </tr>
                  </thead>
                  <tbody>
                    {deliveries.map((delivery) => (
                      <tr key={delivery.id}>
                        <td>
                          <code>{delivery.event_id}</code>
                        </td>
                        <td>{delivery.status}</td>
                        <td>{ago(delivery.created_at)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </>
        )}
      </Await>
    </section>
  );
}
