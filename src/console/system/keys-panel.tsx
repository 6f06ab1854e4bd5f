import { useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy.js';
import { ago } from '../parts/format.js';
import { useLoaded } from '../parts/load.js';
import { Await, Failure } from '../parts/notice.js';
import { PlainTable } from '../parts/plain-table.js';
import { ask } from '../server/server.js';

interface ApiKey {
  readonly id: string;
  readonly short: string;
  readonly name: string;
  readonly organizationId: string;
  readonly scope: string;
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
  readonly lastUsedAt?: string;
}

/** Scopes of a key in words. Only the last gives access to this page. */
const SCOPES = {
  search: 'search',
  submit: 'search, submit runs',
  manage: 'search, submit, manage',
  admin: 'all, and this page',
};

/** Lists API keys. A new key is shown once; a revoked key stops working at once. */
export function KeysPanel() {
  const [round, setRound] = useState(0);
  const [created, setCreated] = useState<{ readonly key: string; readonly name: string }>();
  const [failure, setFailure] = useState<Error>();
  const loaded = useLoaded(
    async (signal) =>
      (await ask<{ readonly keys: readonly ApiKey[] }>('GET', 'keys', undefined, signal)).keys,
    [round],
  );
  const again = (): void => setRound(round + 1);
  const create = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const data = new FormData(form);
    const name = String(data.get('name'));
    setFailure(undefined);
    const days = Number(data.get('days'));
    ask<{ readonly key: string }>('POST', 'keys', {
      name,
      organization: String(data.get('organization')),
      scope: String(data.get('scope')),
      ...(days > 0 && { days }),
    }).then(({ key }) => {
      setCreated({ key, name });
      form.reset();
      again();
    }, setFailure);
  };
  const revoke = (id: string): void => void ask('POST', 'keys/revoke', { id }).then(again, setFailure);
  return (
    <section>
      <h2>API keys</h2>
      {created !== undefined && (
        <div class="notice good" role="status">
          <p>
            The key “{created.name}”. It is shown this once: <code>{created.key}</code>{' '}
            <CopyButton text={created.key} />
          </p>
        </div>
      )}
      {failure !== undefined && <Failure error={failure} />}
      <form class="buttons" onSubmit={create}>
        <input name="name" required maxLength={100} placeholder="Purpose" aria-label="Purpose of the key" />
        <input
          name="organization"
          required
          defaultValue="default"
          aria-label="Organization"
          pattern="[a-z0-9][a-z0-9_\-]*"
        />
        <select name="scope" aria-label="Permissions of the key">
          {Object.entries(SCOPES).map(([scope, label]) => (
            <option key={scope} value={scope} selected={scope === 'manage'}>
              {label}
            </option>
          ))}
        </select>
        <input
          name="days"
          type="number"
          min={1}
          max={3660}
          placeholder="days (empty: no expiry)"
          aria-label="Days"
        />
        <button type="submit" class="button">
          Create a key
        </button>
      </form>
      <Await loaded={loaded}>{(keys) => <KeyTable keys={keys} onRevoke={revoke} />}</Await>
    </section>
  );
}

function KeyTable({
  keys,
  onRevoke,
}: {
  readonly keys: readonly ApiKey[];
  readonly onRevoke: (id: string) => void;
}) {
  const ordered = [...keys].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
  return (
    <PlainTable head={['Name', 'Organization', 'Key', 'Scope', 'Created', 'Last used', 'Expires', 'State']}>
      {ordered.map(
        ({ id, short, name, organizationId, scope, createdAt, lastUsedAt, expiresAt, revokedAt }) => (
          <tr key={id}>
            <td>
              <b>{name}</b>
            </td>
            <td>{organizationId}</td>
            <td>
              <code>glm_{short}_…</code>
            </td>
            <td>{scope}</td>
            <td>{ago(createdAt)}</td>
            <td>{lastUsedAt === undefined ? '' : ago(lastUsedAt)}</td>
            <td>{expiresAt?.slice(0, 10)}</td>
            <td>
              {revokedAt === undefined ? (
                <button
                  type="button"
                  class="button quiet small"
                  onClick={() => onRevoke(id)}
                  aria-label={`Revoke ${name}`}
                >
                  Revoke
                </button>
              ) : (
                <span class="muted">revoked {ago(revokedAt)}</span>
              )}
            </td>
          </tr>
        ),
      )}
    </PlainTable>
  );
}
