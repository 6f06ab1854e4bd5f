import type { Command } from 'commander';
import { openAppliance } from '../../appliance.js';
import { loadConfig } from '../../config.js';
import { verifyReceipt } from '../../pipelines/verify-receipt.js';
import type { CommandContext } from '../terminal/command.js';

/** `gloaming verify <receipt>`: repeats the search of a receipt and compares the results. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('verify')
    .description('compute the result of a receipt again and compare')
    .argument('<receipt>', 'receipt id (rcpt_…) of this appliance, or a JSON file with its content')
    .action((receipt: string) => verify(receipt, context));
}

async function verify(named: string, context: CommandContext): Promise<void> {
  const appliance = await openAppliance(loadConfig(context.environment));
  try {
    const digest = await verifyReceipt(named, appliance);
    context.stdout.write(`Verified: ${digest} was found again, bit for bit.\n`);
  } finally {
    await appliance.close();
  }
}
