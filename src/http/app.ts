import Koa from 'koa';
import { internalPages } from './pages/internal-pages.js';
import { logRequest } from './steps/access-log.js';
import { admit, shed } from './steps/admit.js';
import { authenticate } from './steps/authenticate.js';
import { shareAcrossOrigins } from './steps/cross-origin.js';
import { boundTime } from './steps/deadline.js';
import { catchFailures } from './steps/failure.js';
import { handle } from './steps/handle.js';
import { identify } from './steps/identify.js';
import { replay } from './steps/replay.js';
import { createRouter, readRequestLine, refuseUnrouted, type ShellRouter } from './steps/routing.js';
import type { Shell, ShellState } from './shell.js';
import { validate } from './steps/validate.js';

/** The application, and its router. Answers outside the router read from it which methods a path has. */
export interface App {
  readonly app: Koa<ShellState>;
  readonly router: ShellRouter;
}

/** The middlewares of every request, in order. Each step is the file of its name. */
export function createApp(shell: Shell): App {
  const app = new Koa<ShellState>();
  app.use(identify(shell)); //      X-Request-ID and the headers that every response carries
  app.use(logRequest(shell)); //    one line and one count per request, whatever becomes of it
  app.use(catchFailures(shell)); // the only place where an error becomes a response
  app.use(boundTime(shell)); //     start deadline; the signal that cancels work without a client
  app.use(shareAcrossOrigins(shell)); // what browsers let pages of other origins do
  const router = createRouter(shell, internalPages(shell), [
    shed(shell), //                 429: the server has too much at work
    authenticate(shell), //         401
    admit(shell), //                429: requests of a key, queue
    validate(shell), //             406, 415, 413, 400, 422
    replay(shell), //               Idempotency-Key: 409, 422, or the first response again
    handle(shell), //               the operation's handler, and its answer as the contract shapes it
  ]);
  app.use(readRequestLine(shell, router)); // 400
  app.use(router.routes()); //      internal pages are answered at once, operations by those steps
  app.use(refuseUnrouted(shell, router)); // 404, 405, OPTIONS
  // An error after the response has begun, such as a client that disconnects, cannot become a response.
  app.on('error', (error: Error) => shell.log.warn({ err: error }, 'A response could not be completed.'));
  return { app, router };
}
