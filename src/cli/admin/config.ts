import type { Command } from 'commander';
import { loadConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';
import { trustedProxiesOf } from '../serve/proxies.js';
import { examineAppliance, isBad } from './checks.js';

/** `gloaming config check`: reports whether a server would start with these settings. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('config')
    .description('settings of this appliance')
    .command('check')
    .description('read settings, folders, TLS files and device as a start would, and say what is wrong')
    .addHelpText('after', '\nExit code: 0 where a server would start, 2 where it would not.')
    .action(() => check(context));
}

async function check({ environment, stdout }: CommandContext): Promise<void> {
  const config = loadConfig(environment);
  trustedProxiesOf(config.trustedProxies);
  const places = [
    ['settings', environment.GLOAMING_CONFIG ?? 'as shipped'],
    ['indexes', config.indexesFolder],
    ['data', config.dataFolder],
    ['address', `${config.tls === undefined ? 'http' : 'https'}://${config.host}:${config.port}`],
    ['others know it as', config.publicUrl ?? 'the same'],
  ];
  for (const [name, value] of places) stdout.write(`${name.padEnd(19)}${value}\n`);
  const findings = (await examineAppliance(config)).filter(({ topic }) => TOPICS.has(topic));
  for (const { state, topic, message } of findings) stdout.write(`${state.padEnd(9)}${topic}: ${message}\n`);
  const bad = findings.filter(isBad).length;
  if (bad > 0)
    throw new Refusal(
      'invalid_config',
      `These settings will not serve: see ${bad === 1 ? 'the line' : 'the lines'} marked bad.`,
    );
}

const TOPICS: ReadonlySet<string> = new Set(['folders', 'port', 'tls', 'gpu']);
