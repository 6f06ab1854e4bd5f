/* A vitest reporter: where the processor time of a run went, as test/tools/suite/processor-time.ts measures it. */

const FEWEST_FILES = 10;
const LISTED_FILES = 15;

export class ProcessorTimes {
  onTestRunEnd(modules) {
    const files = modules
      .map((module) => ({ name: module.relativeModuleId, seconds: module.meta().processorSeconds ?? 0 }))
      .sort((one, other) => other.seconds - one.seconds);
    if (files.length < FEWEST_FILES && process.env.GLOAMING_TEST_TIMES === undefined) return;
    const folders = new Map();
    for (const { name, seconds } of files) {
      const folder = name
        .split('/')
        .slice(0, 3)
        .join('/')
        .replace(/\/[^/]*\.test\.ts$/, '');
      folders.set(folder, (folders.get(folder) ?? 0) + seconds);
    }
    const total = files.reduce((sum, { seconds }) => sum + seconds, 0);
    console.log(`\nProcessor time: ${total.toFixed(0)} s in ${files.length} files, and vitest's own.`);
    const isFull = process.env.GLOAMING_TEST_TIMES !== undefined;
    const listed = isFull ? [...folders].sort(([, one], [, other]) => other - one) : [];
    for (const [name, seconds] of listed) console.log(line(seconds, name));
    if (isFull) console.log();
    for (const { name, seconds } of isFull ? files : files.slice(0, LISTED_FILES))
      console.log(line(seconds, name));
  }
}

const line = (seconds, name) => `${seconds.toFixed(1).padStart(8)} s  ${name}`;
