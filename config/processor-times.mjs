/* A vitest reporter: where the processor time of a run went, as test/tools/suite/processor-time.ts measures it. */

/** Runs of fewer files say nothing. */
const FEWEST_FILES = 10;
const LISTED_FILES = 15;

export class ProcessorTimes {
  /** Writes the sum and the costliest files; with GLOAMING_TEST_TIMES=1 all folders and files. */
  onTestRunEnd(modules) {
    const isFull = process.env.GLOAMING_TEST_TIMES === '1';
    if (!isFull && modules.length < FEWEST_FILES) return;
    const files = new Map(
      modules.map((module) => [module.relativeModuleId, module.meta().processorSeconds ?? 0]),
    );
    const folders = new Map();
    let total = 0;
    for (const [name, seconds] of files) {
      total += seconds;
      const folder = name.split('/').slice(0, -1).slice(0, 3).join('/');
      folders.set(folder, (folders.get(folder) ?? 0) + seconds);
    }
    const sum = `\nProcessor time: ${total.toFixed(0)} s in ${files.size} files, without vitest's own process.\n`;
    const listed = isFull ? [...table(folders), '', ...table(files)] : table(files).slice(0, LISTED_FILES);
    process.stdout.write(`${sum}${listed.join('\n')}\n`);
  }
}

/** Lines in descending order of the seconds. */
function table(seconds) {
  const rows = [...seconds].sort(([, one], [, other]) => other - one);
  return rows.map(([name, each]) => `${each.toFixed(1).padStart(8)} s  ${name}`);
}
