import type { RequestContext } from '#src/services/context.js';

export const context = (organizationId = 'lab'): RequestContext => ({
  requestId: 'req_1',
  organizationId,
  keyId: 'key_1',
  signal: new AbortController().signal,
  receivedAtMs: 0,
});

/** Stops a piece until the test opens the gate. */
export function gate(): {
  readonly reached: Promise<void>;
  readonly reach: () => void;
  readonly open: Promise<void>;
  readonly release: () => void;
} {
  let reach = (): void => undefined;
  let release = (): void => undefined;
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const open = new Promise<void>((resolve) => (release = resolve));
  return { reached, reach, open, release };
}
