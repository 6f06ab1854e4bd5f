import { Refusal } from '../../errors.js';
import type { InternalPage } from '../internal-page.js';
import type { Shell, ShellContext } from '../shell.js';
import { buildPythonWheel, type PythonWheel } from './python-wheel.js';

const PATH = '/client/python';

/**
 * The Python client for labs without internet access: `pip install <address>/client/python/<wheel>`, or this page as an
 * index.
 * Source  PEP 503, simple repository
 */
export function pythonClientPages({ pythonClientFolder: folder }: Shell): readonly InternalPage[] {
  if (folder === undefined) return [];
  let built: Promise<PythonWheel> | undefined;
  // A wheel that could not be built is built again at the next request.
  const wheel = async (): Promise<PythonWheel> => {
    built ??= buildPythonWheel(folder);
    return built.catch((error: unknown) => {
      built = undefined;
      throw error;
    });
  };
  return [
    {
      name: 'internal.python_client',
      method: 'GET',
      path: `${PATH}/`,
      serve: async (context) => {
        const { project } = await wheel();
        sendLinks(context, [`<a href="${project}/">${project}</a>`]);
      },
    },
    {
      name: 'internal.python_client_project',
      method: 'GET',
      path: `${PATH}/{project}/`,
      serve: async (context) => {
        const { project, fileName, sha256, requiresPython } = await wheel();
        if (context.state.params.project !== project) throw absent();
        const python = requiresPython.replaceAll('>', '&gt;').replaceAll('<', '&lt;');
        const href = `../${fileName}#sha256=${sha256}`;
        sendLinks(context, [`<a href="${href}" data-requires-python="${python}">${fileName}</a>`]);
      },
    },
    {
      name: 'internal.python_client_wheel',
      method: 'GET',
      path: `${PATH}/{file}`,
      serve: async (context) => {
        const { fileName, bytes } = await wheel();
        if (context.state.params.file !== fileName) throw absent();
        context.set({ 'Content-Type': 'application/zip', 'X-Content-Type-Options': 'nosniff' });
        context.body = bytes;
      },
    },
  ];
}

function sendLinks(context: ShellContext, links: readonly string[]): void {
  context.set({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
  });
  const head = '<!doctype html><html lang="en"><head><title>Gloaming</title></head>';
  context.body = `${head}<body>${links.join('')}</body></html>\n`;
}

function absent(): Refusal {
  return new Refusal('route_not_found', 'This index has one project: the Python client.');
}
