import { execFile } from 'node:child_process';
import type { Environment } from '../../config.js';

/** What systemd is told of a service of `Type=notify`; nothing where it did not start this process. */
export interface ServiceManager {
  /** It serves; from now on the watchdog is told that it lives, as long as the event loop turns. */
  ready(): Promise<void>;
  stopping(): void;
}

/**
 * Speaks by systemd's own `systemd-notify`, because Node has no datagram sockets of the local kind.
 * Source  sd_notify(3), sd_watchdog_enabled(3): half of WATCHDOG_USEC between two signs of life
 */
export function createServiceManager({ NOTIFY_SOCKET, WATCHDOG_USEC }: Environment): ServiceManager {
  if (NOTIFY_SOCKET === undefined) return { ready: () => Promise.resolve(), stopping() {} };
  const intervalMs = Number(WATCHDOG_USEC ?? 0) / 2000;
  let watchdog: NodeJS.Timeout | undefined;
  return {
    async ready() {
      await notify('READY=1');
      if (intervalMs > 0) watchdog = setInterval(() => void notify('WATCHDOG=1'), intervalMs).unref();
    },
    stopping() {
      clearInterval(watchdog);
      void notify('STOPPING=1');
    },
  };
}

/** Never rejects: a sign that does not arrive is systemd's to judge, which restarts what it does not hear of. */
function notify(state: string): Promise<void> {
  return new Promise<void>((resolve) => {
    execFile('systemd-notify', [state], () => resolve());
  }).catch(() => undefined);
}
