import { JobsPanel } from '../databases/jobs-panel.js';
import { ago, bytes, count, percent, seconds } from '../parts/format.js';
import { useLoaded } from '../parts/load.js';
import { Await } from '../parts/notice.js';
import { PlainTable } from '../parts/plain-table.js';
import { ask } from '../server/server.js';
import { KeysPanel } from './keys-panel.js';
import { SessionsPanel } from './sessions-panel.js';
import { WebhooksPanel } from './webhooks-panel.js';

/** Answer of the server's page `system`. */
interface System {
  readonly server_version: string;
  readonly machine: {
    readonly host: string;
    readonly processor: string;
    readonly cores: number;
    readonly load: number;
    readonly memory_bytes: number;
    readonly free_memory_bytes: number;
    readonly process_memory_bytes: number;
    readonly node: string;
    readonly uptime_seconds: number;
  };
  readonly operations: readonly {
    readonly operation: string;
    readonly served_by: string;
    readonly reason: string;
  }[];
  readonly gpus: readonly string[];
  readonly why_no_gpu?: string;
  readonly encoders: readonly {
    readonly id: string;
    readonly is_default: boolean;
    readonly is_baseline: boolean;
    readonly state: string;
  }[];
  readonly disks: readonly {
    readonly name: string;
    readonly folder: string;
    readonly total_bytes: number;
    readonly free_bytes: number;
  }[];
  readonly maintenance: Readonly<Record<'backup' | 'fsck', Maintenance | null>>;
  readonly usage: readonly {
    readonly organization: string;
    readonly endpoints: readonly {
      readonly endpoint: string;
      readonly calls: number;
      readonly units: number;
    }[];
  }[];
  readonly executions: { readonly running: number; readonly waiting: number };
  readonly readiness: { readonly isReady: boolean; readonly missing: readonly string[] };
}

/** Last backup and last check, with their times. */
interface Maintenance {
  readonly at: string;
  readonly outcome: string;
}

/** Operator's view: state of the server, signed-in browsers, API keys and webhooks. */
export function SystemView() {
  const loaded = useLoaded((signal) => ask<System>('GET', 'system', undefined, signal), []);
  return (
    <section class="page system">
      <header class="page-head">
        <h1>System</h1>
      </header>
      <JobsPanel />
      <Await loaded={loaded}>{(system) => <State system={system} />}</Await>
      <KeysPanel />
      <SessionsPanel />
      <WebhooksPanel />
    </section>
  );
}

function State({ system }: { readonly system: System }) {
  const { machine, executions, readiness, maintenance } = system;
  const facts: readonly (readonly [string, string])[] = [
    ['State', readiness.isReady ? 'ready' : readiness.missing.join('; ')],
    ['Searches', `${count(executions.running)} running, ${count(executions.waiting)} waiting`],
    ['Up for', seconds(machine.uptime_seconds)],
    ['Load', `${machine.load.toFixed(2)} on ${machine.cores} cores`],
    [
      'Memory',
      `${bytes(machine.free_memory_bytes)} of ${bytes(machine.memory_bytes)} free; ` +
        `this server has ${bytes(machine.process_memory_bytes)}`,
    ],
    ['Last backup', doneOf(maintenance.backup, 'gloaming backup <folder>')],
    ['Last check for damage', doneOf(maintenance.fsck, 'gloaming fsck')],
    ['Machine', `${machine.host}, ${machine.processor}`],
    ['Version', `${system.server_version}, Node ${machine.node}`],
  ];
  return (
    <>
      <dl class="pairs">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        {system.disks.map(({ name, folder, total_bytes: total, free_bytes: free }) => (
          <div key={name}>
            <dt>Disk of {name}</dt>
            <dd>
              {bytes(free)} of {bytes(total)} free ({percent(free / total)}){' '}
              <span class="muted">{folder}</span>
            </dd>
          </div>
        ))}
      </dl>
      <Table
        title="Backends"
        head={['Operation', 'Served by', 'Why']}
        rows={[
          ...system.operations.map((each) => [each.operation, each.served_by, each.reason]),
          ...system.gpus.map((gpu) => ['GPU', gpu, '']),
          ...(system.why_no_gpu === undefined ? [] : [['GPU', 'none', system.why_no_gpu]]),
        ]}
      />
      <Table
        title="Encoders"
        head={['Encoder', 'Use', 'State']}
        rows={system.encoders.map((each) => [
          each.id,
          [each.is_default ? 'new databases' : '', each.is_baseline ? 'untrained baseline' : '']
            .filter(Boolean)
            .join(', '),
          each.state,
        ])}
      />
      <Table
        title="Usage"
        head={['Organization', 'Operation', 'Calls', 'Units']}
        rows={system.usage.flatMap(({ organization, endpoints }) =>
          endpoints
            .filter(({ calls }) => calls > 0)
            .map(({ endpoint, calls, units }) => [organization, endpoint, count(calls), count(units)]),
        )}
      />
    </>
  );
}

function doneOf(done: Maintenance | null, command: string): string {
  return done === null ? `none recorded: ${command}` : `${ago(done.at)}, ${done.outcome}`;
}

interface TableProps {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function Table({ title, head, rows }: TableProps) {
  return (
    <section>
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="muted">Nothing yet.</p>
      ) : (
        <PlainTable head={head}>
          {rows.map((cells) => (
            <tr key={cells.join('\n')}>
              {cells.map((cell, index) => (
                <td key={index}>{cell}</td>
              ))}
            </tr>
          ))}
        </PlainTable>
      )}
    </section>
  );
}
