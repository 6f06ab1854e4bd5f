import type { ShellContext } from './shell.js';

/** A page for operators, tools and the console. It is not part of the contract. */
export interface InternalPage {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly serve: (context: ShellContext) => Promise<void>;
}

/** A page that answers GET. */
export function page(
  name: string,
  path: string,
  serve: (context: ShellContext) => void | Promise<void>,
  method: InternalPage['method'] = 'GET',
): InternalPage {
  return { name, method, path, serve: async (context) => serve(context) };
}

export function sendHtml(context: ShellContext, html: string, policy: string): void {
  context.set({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  });
  context.body = html;
}

export function sendJson(context: ShellContext, value: unknown): void {
  context.status = 200;
  context.set('Content-Type', 'application/json');
  context.body = JSON.stringify(value);
}
