import { execFile } from 'node:child_process';
import type { Environment } from '../../config.js';

/** Notifications of a `Type=notify` service to systemd. A no-op when systemd did not start this process. */
export interface ServiceManager {
  /** Reports readiness. From then on the watchdog is notified while the event loop runs. */
  ready(): Promise<void>;
  stopping(): void;
}

/**
 * Calls systemd's own `systemd-notify`, because Node has no local datagram sockets.
 * Source  sd_notify(3), sd_watchdog_enabled(3): a heartbeat every half of WATCHDOG_USEC
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

/** Never rejects: systemd restarts a service whose heartbeats are missing. */
function notify(state: string): Promise<void> {
  return new Promise<void>((resolve) => {
    execFile('systemd-notify', [state], () => resolve());
  }).catch(() => undefined);
}
