/** A server that systemd keeps running. */
export interface Service {
  /** Absolute paths of Node and of the program. */
  readonly command: readonly string[];
  readonly settingsFile: string;
  /** The folder that contains everything the server writes. */
  readonly folder: string;
  readonly port: number;
  readonly user: string;
}

const FIRST_UNPRIVILEGED_PORT = 1024;
/** The directives of the packaged unit that name the package's paths. */
const PLACES =
  /^(User|Group|StateDirectory|StateDirectoryMode|ConfigurationDirectory|Environment|Documentation)=/;

/**
 * Adapts the packaged unit to a server in another place: its command, folder and user change, the sandbox stays.
 * @param packaged  config/packaging/gloaming.service
 */
export function serviceUnit(packaged: string, service: Service): string {
  const { command, settingsFile, folder, port, user } = service;
  const own: Readonly<Record<string, readonly string[]>> = {
    ExecStart: [`ExecStart=${command.map(quoted).join(' ')} serve`],
    ProtectSystem: ['ProtectSystem=strict', `ReadWritePaths=${quoted(folder)}`],
    // The program may be inside a home folder.
    ProtectHome: ['ProtectHome=read-only'],
    UMask: [`User=${user}`, `Environment=${quoted(`GLOAMING_CONFIG=${settingsFile}`)}`, 'UMask=0077'],
  };
  const capabilities = port < FIRST_UNPRIVILEGED_PORT ? 'CAP_NET_BIND_SERVICE' : '';
  const lines = packaged.split('\n').filter((line) => !PLACES.test(line));
  return lines
    .flatMap((line) => own[line.slice(0, line.indexOf('='))] ?? [line])
    .map((line) => line.replace(/^(CapabilityBoundingSet|AmbientCapabilities)=$/, `$&${capabilities}`))
    .join('\n');
}

/** Quotes text in which systemd would interpret blanks, quotes or percent signs. */
function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`;
}
