import type { ComponentChildren } from 'preact';
import { GloamingError } from '../../clients/typescript/failure.js';
import type { Loaded } from './load.js';

/** Shows the server's error message and each place of the request that the error names. */
export function Failure({ error }: { readonly error: Error }) {
  const places = error instanceof GloamingError ? error.places : [];
  const requestId = error instanceof GloamingError ? error.requestId : undefined;
  const words = error instanceof TypeError ? 'The server does not answer. Is it running?' : error.message;
  return (
    <div class="notice bad" role="alert">
      <p>{words}</p>
      {places.length > 1 && (
        <ul>
          {places.map(({ location, message }) => (
            <li key={location}>
              <code>{location}</code>: {message}
            </li>
          ))}
        </ul>
      )}
      {requestId !== undefined && <p class="small muted">Request {requestId}</p>}
    </div>
  );
}

/** Renders a loaded value, a loading notice, or the failure. */
export function Await<Value>({
  loaded,
  children,
}: {
  readonly loaded: Loaded<Value>;
  readonly children: (value: Value) => ComponentChildren;
}) {
  if (loaded.state === 'failed') return <Failure error={loaded.error} />;
  if (loaded.state === 'loading') {
    return (
      <p class="loading" role="status">
        Loading…
      </p>
    );
  }
  return <>{children(loaded.value)}</>;
}
