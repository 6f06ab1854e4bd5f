import { EventTable } from './events.js';
import type { ControlStore } from '../control-store.js';
import type { ReleaseObservers } from './releases.js';
import { WebhookTable } from './webhooks.js';

/**
 * Returns the observer that records events of new releases. Each organization with an endpoint for such events, and
 * with access to the database, gets an event in the transaction of the publication, in whichever process that runs.
 */
export function releaseEvents(store: ControlStore, now: () => Date = () => new Date()): ReleaseObservers {
  const webhooks = new WebhookTable(store);
  const events = new EventTable(store, (...appended) => webhooks.enqueue(...appended));
  return {
    onPublished({ id, slug }, { id: databaseId, organizationIds }) {
      const data = { release_id: id, database_id: databaseId, database_slug: slug };
      const timestamp = now().toISOString();
      const listening = webhooks
        .listeners(TYPE)
        .filter((organizationId) => organizationIds?.includes(organizationId) ?? true);
      for (const organizationId of listening) {
        events.append({ type: TYPE, organizationId, subjectId: `${id} ${slug}`, timestamp, data });
      }
    },
    onRemoved: (id, slug) => events.drop(`${id} ${slug}`),
  };
}

const TYPE = 'release.published';
