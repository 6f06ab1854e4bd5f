import { readFileSync } from 'node:fs';

const KIB = 1024;

/** Returns the anonymous resident memory of the process, or all resident memory without /proc. Unit: bytes */
export function anonymousBytes(): number {
  try {
    const line = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'));
    return line === null ? process.memoryUsage.rss() : Number(line[1]) * KIB;
  } catch {
    return process.memoryUsage.rss();
  }
}
