import type { RegisterCommand } from '../terminal/command.js';

/**
 * A command as the help of its parent lists it. The module of a command is loaded where the command line names it:
 * the modules of all commands take 0.9 s of processor time.
 */
export interface CommandEntry {
  readonly name: string;
  /** Heading under which the help of the parent lists it. */
  readonly heading: string;
  /** One line. */
  readonly summary: string;
  /** Adds the command and all its subcommands to its parent; absent where each subcommand has a module of its own. */
  readonly load?: Load;
  readonly commands?: readonly CommandEntry[];
  /** Text after the help of a group. */
  readonly help?: string;
}

type Load = () => Promise<RegisterCommand>;

const SEARCH = 'Search:';
const DATABASES = 'Databases:';
const SERVER = 'Server:';
const UPKEEP = 'Upkeep:';
const SHELL = 'Shell:';

/** Says which of the three commands that search is the right one. */
const WHICH_SEARCH = `
Three commands search:
  search        some queries, now: a table on the terminal, or a file of any format. No server is needed.
  batch search  a proteome or more, on this machine or a cluster, into one Parquet file. Once killed, it resumes.
  runs submit   the same work on a running server, which keeps the results. Needs its address and an API key.
`;

export const ROOT_HELP = `${WHICH_SEARCH}
First steps:
  gloaming start                                       a demo database, a server and the console
  gloaming index build proteins.fasta --name mylab     your own database
  gloaming search query.fasta --database mylab
`;

const BUILD = 'Build:';
const INSPECT = 'Inspect:';
const SIGNIFICANCE = 'E-values and speed:';
const MANAGE = 'Manage:';

const INDEX: readonly CommandEntry[] = [
  {
    name: 'build',
    heading: BUILD,
    summary: 'build a database from files of proteins',
    load: async () => (await import('../index/build.js')).addBuildCommand,
  },
  {
    name: 'annotate',
    heading: BUILD,
    summary: 'give a database other attributes, without encoding again',
    load: async () => (await import('../index/releases/annotate.js')).addAnnotateCommand,
  },
  {
    name: 'shard',
    heading: BUILD,
    summary: 'encode one shard of a divided build; its script calls this',
    load: async () => (await import('../cluster/shards.js')).addShardCommand,
  },
  {
    name: 'list',
    heading: INSPECT,
    summary: 'databases and their releases',
    load: async () => (await import('../index/list.js')).addListCommand,
  },
  {
    name: 'fields',
    heading: INSPECT,
    summary: 'attributes that filters can use',
    load: async () => (await import('../index/fields.js')).addFieldsCommand,
  },
  {
    name: 'diff',
    heading: INSPECT,
    summary: 'proteins that differ between two releases',
    load: async () => (await import('../index/releases/diff.js')).addDiffCommand,
  },
  {
    name: 'verify',
    heading: INSPECT,
    summary: 'recompute every digest and name damaged files',
    load: async () => (await import('../index/verify.js')).addVerifyCommand,
  },
  {
    name: 'calibrate',
    heading: SIGNIFICANCE,
    summary: 'measure how scores of unrelated proteins are distributed: gives E-values',
    load: async () => (await import('../index/calibrate.js')).addCalibrateCommand,
  },
  {
    name: 'calibration',
    heading: SIGNIFICANCE,
    summary: 'show the measurements behind the E-values of a database',
    load: async () => (await import('../index/significance/calibration.js')).addCalibrationCommand,
  },
  {
    name: 'qualify',
    heading: SIGNIFICANCE,
    summary: 'measure what the fast approximate policy loses',
    load: async () => (await import('../index/qualify.js')).addQualifyCommand,
  },
  {
    name: 'neighbours',
    heading: SIGNIFICANCE,
    summary: 'find the nearest other proteins of each protein of a database',
    load: async () => (await import('../index/neighbours.js')).addNeighboursCommand,
  },
  {
    name: 'neighbours-shard',
    heading: SIGNIFICANCE,
    summary: 'find the neighbours of one shard of a database; its script calls this',
    load: async () => (await import('../index/neighbours.js')).addNeighboursShardCommand,
  },
  {
    name: 'propagation',
    heading: SIGNIFICANCE,
    summary: 'give hits by way of neighbours E-values of their own',
    load: async () => (await import('../index/significance/propagation.js')).addPropagationCommand,
  },
  {
    name: 'default',
    heading: MANAGE,
    summary: 'show or set the database that is searched where none is named',
    load: async () => (await import('../index/default.js')).addDefaultCommand,
  },
  {
    name: 'grant',
    heading: MANAGE,
    summary: 'make a database private to an organization, or public',
    load: async () => (await import('../index/grant.js')).addGrantCommand,
  },
  {
    name: 'prune',
    heading: MANAGE,
    summary: 'delete releases that nothing uses',
    load: async () => (await import('../index/releases/prune.js')).addPruneCommand,
  },
  {
    name: 'remove',
    heading: MANAGE,
    summary: 'delete a database or a release',
    load: async () => (await import('../index/remove.js')).addRemoveCommand,
  },
];

const leaf = (name: string, summary: string): CommandEntry => ({ name, heading: 'Commands:', summary });

/** All commands, in the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'search',
    heading: SEARCH,
    summary: 'search a database with some proteins, now',
    load: async () => (await import('../search/search.js')).register,
  },
  {
    name: 'batch',
    heading: SEARCH,
    summary: 'search with a proteome or more, on one machine or a cluster',
    load: async () => (await import('../batch/batch.js')).register,
    commands: [
      leaf('search', 'search a database with a FASTA file, into a Parquet file'),
      leaf('task', 'do one task of a batch; its script calls this'),
    ],
    help: WHICH_SEARCH,
  },
  {
    name: 'annotate',
    heading: SEARCH,
    summary: 'find the domains of many proteins with a database of families',
    load: async () => (await import('../batch/annotate.js')).register,
  },
  {
    name: 'runs',
    heading: SEARCH,
    summary: 'search on a running server, which keeps the results',
    load: async () => (await import('../runs/runs.js')).register,
    commands: [
      leaf('submit', 'search with a FASTA file in one run'),
      leaf('list', 'runs, newest first'),
      leaf('watch', 'show the progress of a run until it ends'),
      leaf('cancel', 'cancel a queued or running run'),
      leaf('results', 'write the rows of a run'),
      leaf('export', 'write the candidates of a run as a table, an alignment or a page'),
    ],
    help: `
GLOAMING_URL names the server (default: http://127.0.0.1:8080), GLOAMING_API_KEY holds a key of it.
${WHICH_SEARCH}`,
  },
  {
    name: 'verify',
    heading: SEARCH,
    summary: 'repeat the search of a receipt and compare the results',
    load: async () => (await import('../search/verify.js')).register,
  },
  {
    name: 'index',
    heading: DATABASES,
    summary: 'build, inspect, calibrate and manage databases',
    commands: INDEX,
  },
  {
    name: 'refresh',
    heading: DATABASES,
    summary: 'build the next release of a database from its source',
    load: async () => (await import('../index/releases/refresh.js')).register,
  },
  {
    name: 'cluster',
    heading: DATABASES,
    summary: 'divide a database into families by its neighbours',
    load: async () => (await import('../search/families.js')).register,
  },
  {
    name: 'homolog-source',
    heading: DATABASES,
    summary: 'sequences in which mmseqs finds homologs of your proteins',
    load: async () => (await import('../index/homolog-source.js')).register,
    commands: [
      leaf('add', 'make a homolog source of FASTA files'),
      leaf('index', 'make the k-mer indexes of a homolog source, with which searches are faster'),
    ],
  },
  {
    name: 'encoder',
    heading: DATABASES,
    summary: 'models that turn residues into vectors',
    load: async () => (await import('../admin/encoder.js')).register,
    commands: [
      leaf('add', 'install an encoder'),
      leaf('calibrate', 'fit the null of an encoder'),
      leaf('compare', 'compare two encoders'),
      leaf('list', 'installed encoders'),
    ],
  },
  {
    name: 'start',
    heading: SERVER,
    summary: 'try it out: a demo database, a key and a server',
    load: async () => (await import('../serve/start.js')).register,
  },
  {
    name: 'serve',
    heading: SERVER,
    summary: 'serve the databases, for a service manager',
    load: async () => (await import('../serve/start.js')).register,
  },
  {
    name: 'init',
    heading: SERVER,
    summary: 'write settings, a key and a service for a new appliance',
    load: async () => (await import('../admin/init.js')).register,
  },
  {
    name: 'config',
    heading: SERVER,
    summary: 'settings of this appliance',
    load: async () => (await import('../admin/config.js')).register,
    commands: [leaf('check', 'check the settings')],
  },
  {
    name: 'console',
    heading: SERVER,
    summary: 'print a link that opens the console in a browser, once',
    load: async () => (await import('../serve/console.js')).register,
  },
  {
    name: 'keys',
    heading: SERVER,
    summary: 'create, list and revoke API keys',
    load: async () => (await import('../admin/keys.js')).register,
    commands: [
      leaf('create', 'make a key and show it, once'),
      leaf('list', 'keys with their organization and state'),
      leaf('revoke', 'end a key at once'),
    ],
  },
  {
    name: 'doctor',
    heading: UPKEEP,
    summary: 'check the installation, and say why a GPU is not used',
    load: async () => (await import('../admin/doctor.js')).register,
  },
  {
    name: 'backup',
    heading: UPKEEP,
    summary: 'copy everything that cannot be rebuilt into a folder',
    load: async () => (await import('../admin/backup.js')).register,
  },
  {
    name: 'restore',
    heading: UPKEEP,
    summary: 'put a backup into an empty data folder',
    load: async () => (await import('../admin/backup.js')).register,
  },
  {
    name: 'fsck',
    heading: UPKEEP,
    summary: 'look for damage in the data and indexes folders',
    load: async () => (await import('../admin/fsck.js')).register,
  },
  {
    name: 'upgrade',
    heading: UPKEEP,
    summary: 'bring the data folder to the version of this program',
    load: async () => (await import('../admin/upgrade.js')).register,
  },
  {
    name: 'completion',
    heading: SHELL,
    summary: 'print a script that completes commands and options in bash, zsh or fish',
    load: async () => (await import('./completion.js')).register,
  },
];

/** Former names of commands, which still work and which no help lists. */
export const FORMER_NAMES: readonly (readonly [former: readonly string[], name: readonly string[]])[] = [
  [['background'], ['homolog-source']],
  [
    ['calibration', 'show'],
    ['index', 'calibration'],
  ],
  [['calibration'], ['index', 'calibration']],
];
