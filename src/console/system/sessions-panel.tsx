import { useState } from 'preact/hooks';
import { ago, moment } from '../parts/format.js';
import { useLoaded } from '../parts/load.js';
import { Await, Failure } from '../parts/notice.js';
import { PlainTable } from '../parts/plain-table.js';
import { ask } from '../server/server.js';

interface Session {
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  /** Key that signed the session in; absent for a link of the command line. */
  readonly keyId?: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly is_this: boolean;
}

/** Lists the signed-in browsers. The operator can sign each of them out. */
export function SessionsPanel() {
  const [round, setRound] = useState(0);
  const [failure, setFailure] = useState<Error>();
  const loaded = useLoaded(
    async (signal) =>
      (
        await ask<{ readonly sessions: readonly Session[] }>('GET', 'sessions', undefined, signal)
      ).sessions.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt)),
    [round],
  );
  const end = (id: string): void =>
    void ask('POST', 'sessions/revoke', { id }).then(() => setRound(round + 1), setFailure);
  return (
    <section>
      <h2>Browsers signed in</h2>
      {failure !== undefined && <Failure error={failure} />}
      <Await loaded={loaded}>
        {(sessions) => (
          <PlainTable head={['By', 'Organization', 'Since', 'Until', 'State']}>
            {sessions.map((session) => (
              <tr key={session.id}>
                <td>
                  <b>
                    {session.keyId === undefined ? 'a link of the command line' : `key “${session.name}”`}
                  </b>
                </td>
                <td>{session.organizationId}</td>
                <td>{ago(session.createdAt)}</td>
                <td>{moment(session.expiresAt)}</td>
                <td>
                  {session.is_this ? (
                    <span class="muted">this browser</span>
                  ) : (
                    <button type="button" class="button quiet small" onClick={() => end(session.id)}>
                      Sign out
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </PlainTable>
        )}
      </Await>
    </section>
  );
}
