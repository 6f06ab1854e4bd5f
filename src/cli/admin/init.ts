import { execFile } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { access, chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, networkInterfaces, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { promisify } from 'node:util';
import { InvalidArgumentError, type Command } from 'commander';
import { loadConfig, type ApplianceConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';
import { rawStream } from '../terminal/printed.js';
import { withKeys } from './keys.js';
import { serviceUnit } from './service-unit.js';

const run = promisify(execFile);
/** Longest validity that browsers accept for a certificate of a private authority. */
const CERTIFICATE_DAYS = 825;
const AUTHORITY_DAYS = 3650;

interface InitOptions {
  readonly host?: string;
  readonly port?: number;
  readonly name?: string;
  readonly tls?: TlsKind;
  readonly certificate?: string;
  readonly certificateKey?: string;
}

type TlsKind = 'self-signed' | 'files' | 'none';

interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
  /** File of the private authority, which clients must install. */
  readonly authority?: string;
}

/** `gloaming init`: writes the first settings of an appliance into a folder of its own. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('init')
    .description(
      'write settings, an API key, TLS files if wanted and a service for a new appliance; asks for what is not said',
    )
    .argument('[folder]', 'where settings, TLS files, databases and data go', 'gloaming')
    .option('--host <address>', 'address to listen on; 0.0.0.0 is every network of this machine')
    .option('--port <number>', 'port to listen on', portOf)
    .option('--name <host name>', 'name by which others reach this machine (default: its own)')
    .option(
      '--tls <kind>',
      'self-signed: a private authority and a certificate of it; files: those named next; none: plain HTTP',
      tlsOf,
    )
    .option(
      '--certificate <file>',
      'certificate for --tls files, PEM, with those between it and its authority',
    )
    .option('--certificate-key <file>', 'its private key, PEM')
    .action((folder: string, options: InitOptions) => init(resolve(folder), options, context));
}

async function init(folder: string, options: InitOptions, context: CommandContext): Promise<void> {
  const settingsFile = join(folder, 'appliance.json');
  if (existsSync(settingsFile)) {
    throw new Refusal(
      'invalid_config',
      `${settingsFile} is there already; edit it, or choose another folder.`,
    );
  }
  const { host, port, tls } = await complete(options, context);
  const name = options.name ?? hostname();
  const named = tls === 'files' ? await namedFiles(options) : undefined;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const files = tls === 'self-signed' ? await makeCertificates(join(folder, 'tls'), name) : named;
  const isLocal = host === '127.0.0.1';
  const scheme = files === undefined ? 'http' : 'https';
  const settings = {
    indexes_folder: join(folder, 'indexes'),
    data_folder: join(folder, 'data'),
    host,
    port,
    ...(!isLocal && { public_url: `${scheme}://${name}:${port}` }),
    ...(files && { tls: { certificate_file: files.certificate, key_file: files.key } }),
  };
  await writeFile(settingsFile, `${JSON.stringify(settings, undefined, 2)}\n`, { flag: 'wx', mode: 0o600 });
  const config = loadConfig({ GLOAMING_CONFIG: settingsFile });
  const keyFile = join(folder, 'admin.key');
  const { key } = await withKeys(config, (keys) => keys.create('admin', 'default', { scope: 'admin' }));
  await writeFile(keyFile, `${key}\n`, { mode: 0o600 });
  const unitFile = join(folder, 'gloaming.service');
  const user = userInfo().username;
  await writeFile(unitFile, await unitOf(config, settingsFile, folder, user));
  const authority = files?.authority;
  const lines = [
    `Settings   ${settingsFile}`,
    `API key    ${keyFile}, of scope admin, for you alone`,
    ...(files ? [`TLS        ${files.certificate}`] : []),
    ...(authority ? [`           ${CERTIFICATE_DAYS} days; clients must trust ${authority}`] : []),
    `Service    ${unitFile}, for systemd`,
    // The superuser needs no server of its own, and every fault of the server would be one of the superuser.
    ...(user === 'root'
      ? [`           of root: name another user in its line User=, and make that user the owner of ${folder}`]
      : []),
    '',
    'Next:',
    `  export GLOAMING_CONFIG=${settingsFile}`,
    '  gloaming config check',
    '  gloaming index build proteins.fasta.gz --name mylab',
    `  gloaming serve       # or: sudo cp ${unitFile} /etc/systemd/system/ && sudo systemctl enable --now gloaming`,
  ];
  context.stdout.write(`${lines.join('\n')}\n`);
}

/** Errors  Refusal `invalid_config` when a file is not named or cannot be read */
async function namedFiles({ certificate, certificateKey }: InitOptions): Promise<TlsFiles> {
  if (certificate === undefined || certificateKey === undefined) {
    throw new Refusal('invalid_config', '--tls files needs --certificate and --certificate-key.');
  }
  const files = { certificate: resolve(certificate), key: resolve(certificateKey) };
  for (const file of Object.values(files)) {
    await access(file, constants.R_OK).catch(({ code }: NodeJS.ErrnoException) => {
      throw new Refusal('invalid_config', `${file} cannot be read (${code}); --tls files needs both files.`);
    });
  }
  return files;
}

async function unitOf(
  { packageFolder, port }: ApplianceConfig,
  settingsFile: string,
  folder: string,
  user: string,
): Promise<string> {
  const packaged = await readFile(join(packageFolder, 'config', 'packaging', 'gloaming.service'), 'utf8');
  const command = [process.execPath, join(packageFolder, 'dist', 'src', 'cli', 'main.js')];
  return serviceUnit(packaged, { command, settingsFile, folder, port, user });
}

/** Asks on a terminal for missing options. Without a terminal it takes the safer value. */
async function complete(
  { host, port, tls, certificate }: InitOptions,
  { stdin, stdout }: CommandContext,
): Promise<Required<Pick<InitOptions, 'host' | 'port' | 'tls'>>> {
  const isAsking = stdout.isTTY === true && (stdin as { readonly isTTY?: boolean }).isTTY === true;
  const terminal = isAsking ? createInterface({ input: stdin, output: rawStream(stdout) }) : undefined;
  const ask = async (question: string, fallback: string): Promise<string> =>
    ((await terminal?.question(`${question} [${fallback}] `)) ?? '').trim() || fallback;
  try {
    const chosenHost =
      host ?? (await ask('Address to listen on; 0.0.0.0 for the whole network', '127.0.0.1'));
    const chosenPort = port ?? portOf(await ask('Port', '8080'));
    const safeTls = certificate !== undefined ? 'files' : chosenHost === '127.0.0.1' ? 'none' : 'self-signed';
    const chosenTls = tls ?? tlsOf(await ask('TLS: self-signed, files or none', safeTls));
    return { host: chosenHost, port: chosenPort, tls: chosenTls };
  } finally {
    terminal?.close();
  }
}

/** Creates a private authority, and a certificate for this machine's names and addresses. */
async function makeCertificates(folder: string, name: string): Promise<TlsFiles> {
  const [authority, authorityKey, certificate, key] = ['ca.crt', 'ca.key', 'server.crt', 'server.key'].map(
    (file) => join(folder, file),
  );
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const names = [
    `DNS:${name}`,
    'DNS:localhost',
    ...addresses.map(({ address }) => `IP:${address.split('%')[0]}`),
  ];
  await mkdir(folder, { mode: 0o700 });
  const fresh = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
  try {
    await run('openssl', [
      ...[...fresh, '-days', `${AUTHORITY_DAYS}`, '-subj', `/CN=Gloaming authority of ${name}`],
      ...['-addext', 'keyUsage=critical,keyCertSign,cRLSign', '-keyout', authorityKey, '-out', authority],
    ]);
    await run('openssl', [
      ...[
        ...fresh,
        '-days',
        `${CERTIFICATE_DAYS}`,
        '-subj',
        `/CN=${name}`,
        '-CA',
        authority,
        '-CAkey',
        authorityKey,
      ],
      ...[
        '-addext',
        `subjectAltName=${[...new Set(names)].join(',')}`,
        '-addext',
        'basicConstraints=critical,CA:FALSE',
      ],
      ...['-addext', 'extendedKeyUsage=serverAuth', '-keyout', key, '-out', certificate],
    ]);
    for (const secret of [authorityKey, key]) await chmod(secret, 0o600);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    const { code, stderr = '' } = error as { readonly code?: unknown; readonly stderr?: string };
    const reason =
      code === 'ENOENT'
        ? 'openssl was not found; install it, or use --tls none'
        : stderr.trim().split('\n').at(-1);
    throw new Refusal('invalid_config', `No certificate could be made: ${reason}.`);
  }
  return { certificate, key, authority };
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isSafeInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('a port is a whole number from 1 to 65535.');
}

function tlsOf(text: string): TlsKind {
  if (text === 'self-signed' || text === 'files' || text === 'none') return text;
  throw new InvalidArgumentError('expected is self-signed, files or none.');
}
