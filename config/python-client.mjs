// Writes the three generated modules of the Python client: codes.py, an exception class for each refusal code of the
// contract; operations.py, method and path of each operation; and client.py, the blocking twin of aio.py. The build runs
// it after tsc, because it reads the compiled contract.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const CLASSES = {
  invalid_request_error: 'InvalidRequestError',
  authentication_error: 'AuthenticationError',
  permission_error: 'ForbiddenError',
  not_found_error: 'NotFoundError',
  conflict_error: 'ConflictError',
  idempotency_error: 'IdempotencyError',
  rate_limit_error: 'RateLimitError',
  capacity_error: 'CapacityError',
  api_error: 'ServiceError',
};
const CLIENT_HEAD = '"""The client with blocking calls. The build writes it from aio.py: edit that file."""';
const DOCSTRING_WIDTH = 100;

/** @param root the package's folder */
export async function writePythonClient(root) {
  const contract = pathToFileURL(join(root, 'dist', 'src', 'contract', 'grammar', 'refusals.js'));
  const { REFUSALS } = await import(contract.href);
  const document = JSON.parse(readFileSync(join(root, 'config', 'openapi.json'), 'utf8'));
  const folder = join(root, 'src', 'clients', 'python', 'gloaming');
  writeFileSync(join(folder, 'codes.py'), codesModule(REFUSALS));
  writeFileSync(join(folder, 'operations.py'), operationsModule(document));
  writeFileSync(join(folder, 'client.py'), blockingModule(readFileSync(join(folder, 'aio.py'), 'utf8')));
}

/**
 * Returns the module without its awaits. An asynchronous program minus these words is the same blocking program, so that
 * only one of the two clients is written by hand; unasync does the same for httpx and elasticsearch.
 */
function blockingModule(source) {
  const code = source
    .replace(/^""".*"""/, CLIENT_HEAD)
    .replace(/\bAsync(?=[A-Z])/g, '')
    .replace(/\bAwaitingTransport\b/g, 'BlockingTransport')
    .replace(/__a(enter|exit)__/g, '__$1__')
    .replace(/\basync (?=def|for|with)/g, '');
  return withoutAwaits(code);
}

/** `(await x(y)).z` → `x(y).z`; `await x` → `x`. */
function withoutAwaits(code) {
  let text = code;
  for (let start = text.indexOf('(await '); start >= 0; start = text.indexOf('(await ', start)) {
    const end = closingOf(text, start);
    const inside = text.slice(start + '(await '.length, end);
    const isCall = /[\w)\]]$/.test(text.slice(0, start));
    text = text.slice(0, start) + (isCall ? `(${inside})` : inside) + text.slice(end + 1);
  }
  return text.replace(/\bawait /g, '');
}

/** Position of the parenthesis that closes the one at `start`; no string of the module contains a parenthesis alone. */
function closingOf(text, start) {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  throw new Error(`aio.py has an open parenthesis: ${text.slice(start, start + 80)}`);
}

function codesModule(refusals) {
  const rules = Object.entries(refusals).map(([code, rule]) => ({ code, name: pascalCase(code), ...rule }));
  const classes = rules.map(
    ({ code, name, type, status, meaning }) =>
      `class ${name}(${CLASSES[type]}):\n    """${wrapped(`${meaning} Status ${status}.`)}"""\n\n    code = "${code}"\n`,
  );
  const bases = [...new Set(rules.map(({ type }) => CLASSES[type])), 'GloamingError'].sort();
  return [
    '"""The exception of each refusal code. The build writes it from the contract: config/python-client.mjs."""\n',
    'from __future__ import annotations\n',
    'from typing import Dict, Type\n',
    `from .errors import (\n${bases.map((base) => `    ${base},\n`).join('')})\n`,
    ...classes.flatMap((text) => ['', text]),
    '',
    '#: Code on the wire → its class.',
    `BY_CODE: Dict[str, Type[GloamingError]] = {\n${rules
      .map(({ code, name }) => `    "${code}": ${name},\n`)
      .join('')}}\n`,
  ].join('\n');
}

/** Method and path of each operation, as client.call() sends it. */
function operationsModule({ paths }) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { operationId }]) => `    "${operationId}": ("${method.toUpperCase()}", "${path}"),\n`,
    ),
  );
  return [
    '"""Method and path of each operation. The build writes it from the contract: config/python-client.mjs."""\n',
    'from __future__ import annotations\n',
    'from typing import Dict, Tuple\n',
    `OPERATIONS: Dict[str, Tuple[str, str]] = {\n${operations.join('')}}\n`,
  ].join('\n');
}

function pascalCase(code) {
  return code.replaceAll(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase());
}

function wrapped(text) {
  const lines = [''];
  for (const word of text.replaceAll('\\', '\\\\').split(' ')) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length > DOCSTRING_WIDTH) lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return lines.join('\n    ');
}
