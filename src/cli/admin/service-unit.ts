/** A server that systemd shall keep running. */
export interface Service {
  /** Of Node and of the program, absolute. */
  readonly command: readonly string[];
  readonly settingsFile: string;
  /** All that it writes lies in here. */
  readonly folder: string;
  readonly port: number;
  readonly user: string;
}

const FIRST_UNPRIVILEGED_PORT = 1024;
/** What the package's unit says of the package's places. */
const PLACES =
  /^(User|Group|StateDirectory|StateDirectoryMode|ConfigurationDirectory|Environment|Documentation)=/;

/**
 * The unit of the package for a server elsewhere: its command, its folder and its user, and the same walls around it.
 * @param packaged  config/packaging/gloaming.service
 */
export function serviceUnit(packaged: string, service: Service): string {
  const { command, settingsFile, folder, port, user } = service;
  const own: Readonly<Record<string, readonly string[]>> = {
    ExecStart: [`ExecStart=${command.map(quoted).join(' ')} serve`],
    ProtectSystem: ['ProtectSystem=strict', `ReadWritePaths=${quoted(folder)}`],
    // The program may lie in somebody's home.
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

/** systemd reads blanks, quotes and percent signs as something of its own. */
function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`;
}
