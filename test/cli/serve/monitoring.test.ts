import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../tools/paths.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';

/* The shipped rules of Prometheus and panels of Grafana use only metrics that a server has. */

const FOLDER = join(ROOT, 'config', 'packaging', 'monitoring');
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');

interface Dashboard {
  readonly panels: readonly { readonly id: number; readonly targets: readonly { readonly expr: string }[] }[];
}

describe('the dashboard and the alert rules', () => {
  let small: SmallAppliance;
  let metrics: ReadonlyMap<string, string>;
  beforeAll(async () => {
    small = await startSmallAppliance();
    const text = await (await fetch(`${small.url}/metrics`)).text();
    const lines = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
    metrics = new Map(lines.map(([, name, type]) => [name!, type!]));
  });
  afterAll(() => small.close());

  it('query only metrics that the server exports, GPU metrics excepted', () => {
    const dashboard = JSON.parse(read('dashboard.json')) as Dashboard;
    const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const rules = [...read('alerts.yml').matchAll(/^ +expr: (.*)$/gm)].map(([, expr]) => expr!);
    const names = new Set([...expressions, ...rules].flatMap((expr) => expr.match(/gloaming_\w+/g) ?? []));
    expect(names.size).toBeGreaterThan(12);
    const unknown = [...names].filter(
      (name) => !metrics.has(name) && !metrics.has(name.replace(/_bucket$/, '')),
    );
    expect(unknown.sort()).toEqual([
      'gloaming_gpu_memory_free_bytes',
      'gloaming_gpu_resident_bytes',
      'gloaming_kernel_retries',
    ]);
  });

  it('take rates of counters and histograms only', () => {
    const all = read('dashboard.json') + read('alerts.yml');
    const rated = [...all.matchAll(/\brate\((gloaming_\w+)/g)].map(([, name]) =>
      name!.replace(/_bucket$/, ''),
    );
    expect(new Set(rated.map((name) => metrics.get(name)))).toEqual(new Set(['counter', 'histogram']));
  });

  it.skipIf(!hasPromtool)('are accepted by promtool, and fire on faults (Debian: prometheus)', () => {
    const promtool = (...args: string[]): string =>
      execFileSync('promtool', args, { cwd: FOLDER, encoding: 'utf8' });
    expect(promtool('check', 'config', 'prometheus.yml')).toMatch(/SUCCESS: \d+ rules found/);
    expect(promtool('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
  });
});
