import { readFileSync } from 'node:fs';

const KIB = 1024;

/** Memory that belongs to the process alone, in bytes; where the system does not tell, all that is resident. */
export function anonymousBytes(): number {
  try {
    const line = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'));
    return line === null ? process.memoryUsage.rss() : Number(line[1]) * KIB;
  } catch {
    return process.memoryUsage.rss();
  }
}
