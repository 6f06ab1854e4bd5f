import Router from '@koa/router';
import { Refusal } from '../../errors.js';
import type { Route } from '../../contract/grammar/route.js';
import { leadToConsole } from '../console/files.js';
import { requireForm } from '../request-form.js';
import { readTarget } from '../target.js';
import type { InternalPage } from '../internal-page.js';
import type { Middleware, RoutedContext, Shell, ShellContext, ShellState } from '../shell.js';

export type ShellRouter = Router<ShellState, RoutedContext>;

/** Reads the request line. Errors  those of the request's form */
export function readRequestLine(shell: Shell, router: ShellRouter): Middleware {
  return async (context, next) => {
    const pathRoute = routeOfPath(shell, router, context.req.url ?? '/');
    if (pathRoute !== undefined) context.state.pathRoute = pathRoute;
    requireForm(context.req);
    const { path, query, repeated } = readTarget(context.req.url ?? '/');
    context.state.query = query;
    context.state.repeated = repeated;
    // Koa's reading of the target drops a fragment and turns backslashes into slashes. The router must not use it.
    context.newRouterPath = path;
    await next();
  };
}

/** Routes each path to its page, or through these steps to its operation. */
export function createRouter(
  shell: Shell,
  pages: readonly InternalPage[],
  steps: readonly Middleware[],
): ShellRouter {
  // Paths are matched as spelled. Of several matching routes, the one with the fewest parameters answers.
  const router: ShellRouter = new Router({ strict: true, sensitive: true, exclusive: 'specificity' });
  for (const route of shell.routes) {
    const add = router[METHODS[route.method]].bind(router);
    add(route.operationId, routerPath(route.path), enter(route.operationId, route), ...steps);
  }
  for (const { name, method, path, serve } of pages) {
    router[METHODS[method]](name, routerPath(path), enter(name), serve);
  }
  return router;
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const satisfies Record<
  Route['method'],
  string
>;

/** Translates `{id}` of the contract to `:id` of the router. */
function routerPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

function enter(operation: string, route?: Route): Middleware {
  return async (context, next) => {
    context.state.operation = operation;
    context.state.params = context.params ?? {};
    if (route !== undefined) context.state.route = route;
    await next();
  };
}

/**
 * Answers requests that no route has answered. The router's own allowedMethods() does not fit: it hides which methods
 * the path has, does not know `OPTIONS *`, and gives OPTIONS an empty body.
 * Errors  Refusal `route_not_found`, `method_not_allowed`
 */
export function refuseUnrouted(shell: Shell, router: ShellRouter): Middleware {
  return async (context) => {
    const path = context.newRouterPath ?? '/';
    const allowed = path === '*' ? SERVER_METHODS : methodsOf(router, path);
    if (allowed.length === 0 && path === '/' && leadToConsole(shell, context)) return;
    if (allowed.length === 0) throw pathRefusal(path);
    if (context.method !== 'OPTIONS') throw methodRefusal(context.method, allowed);
    answerOptions(context, allowed);
  };
}

/** Methods of `*`, which stands for the whole server. */
export const SERVER_METHODS: readonly string[] = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'];

/** Methods that the path has; empty where the path does not exist. */
export function methodsOf(router: ShellRouter, path: string): readonly string[] {
  const methods = router.match(path, 'OPTIONS').path.flatMap((layer) => layer.methods);
  return methods.length === 0 ? [] : [...new Set([...methods, 'OPTIONS'])].sort();
}

/**
 * The operation of the target's path, even if the target cannot be decoded. Undefined when the path has several
 * operations.
 */
export function routeOfPath({ routes }: Shell, router: ShellRouter, target: string): Route | undefined {
  const path = target.replace(/^[a-z]+:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? '';
  const names = new Set(router.match(path, 'OPTIONS').path.map(({ name }) => name));
  const matching = routes.filter(({ operationId }) => names.has(operationId));
  return matching.length === 1 ? matching[0] : undefined;
}

export function pathRefusal(path: string): Refusal {
  return new Refusal(
    'route_not_found',
    `No route has the path ${shorten(path)}; GET /docs/api shows those there are.`,
  );
}

export function methodRefusal(method: string, allowed: readonly string[]): Refusal {
  const list = allowed.join(', ');
  return new Refusal(
    'method_not_allowed',
    `${shorten(method)} is not a method of this path; it has ${list}.`,
    {
      allowed_methods: allowed,
    },
  );
}

function answerOptions(context: ShellContext, allowed: readonly string[]): void {
  context.state.operation = 'options';
  context.set('Allow', allowed.join(', '));
  context.status = 204;
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 128 ? `${text.slice(0, 128)}…` : text);
}
