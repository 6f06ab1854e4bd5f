import type { Snippet } from './code-panel.js';

/** A request of the contract, to be written as code. */
export interface SnippetRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  /** The equivalent command of the command line; absent if there is none. */
  readonly command?: string;
  /** The call of the TypeScript client. */
  readonly call: string;
}

/**
 * Writes the request in four languages. Each reads the key from GLOAMING_API_KEY, so that no shell history contains the
 * key.
 */
export function snippetsOf(
  { method, path, body, command, call }: SnippetRequest,
  origin = new URL('..', location.href).href.replace(/\/$/, ''),
): readonly Snippet[] {
  const json = body === undefined ? undefined : JSON.stringify(body, null, 2);
  return [
    { language: 'curl', code: curlOf(origin + path, method, json) },
    { language: 'Python', code: pythonOf(origin + path, method, json) },
    { language: 'TypeScript', code: typescriptOf(origin, call) },
    ...(command === undefined ? [] : [{ language: 'Command line', code: command }]),
  ];
}

function curlOf(url: string, method: string, json: string | undefined): string {
  const lines = [`curl -s ${quoted(url)}`, `  -H "Authorization: Bearer $GLOAMING_API_KEY"`];
  if (json !== undefined) lines.push(`  -H 'Content-Type: application/json'`, `  -d ${quoted(json)}`);
  else if (method !== 'GET') lines.push(`  -X ${method}`);
  return lines.join(' \\\n');
}

function pythonOf(url: string, method: string, json: string | undefined): string {
  return [
    'import json, os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    `    method=${JSON.stringify(method)},`,
    '    headers={',
    '        "Authorization": "Bearer " + os.environ["GLOAMING_API_KEY"],',
    '        "Content-Type": "application/json",',
    '    },',
    ...(json === undefined ? [] : [`    data=json.dumps(json.loads(r"""${json}""")).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    answer = json.load(response)',
    'print(json.dumps(answer, indent=2))',
  ].join('\n');
}

function typescriptOf(origin: string, call: string): string {
  return [
    `// curl -sO ${origin}/client/typescript/gloaming.mjs`,
    `import { createClient } from './gloaming.mjs';`,
    '',
    `const gloaming = createClient({ url: ${JSON.stringify(origin)}, key: process.env.GLOAMING_API_KEY });`,
    call,
  ].join('\n');
}

/** Quotes a text for a shell. The shell expands nothing in it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
