// Writes src/settings-file.ts, the type of a settings file, from config/appliance.schema.json. The build runs it before tsc.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import { STYLE, declaration } from './typescript-client.mjs';

const HEAD = '// Written by config/settings-type.mjs from config/appliance.schema.json.\n';

/** @param root the package's folder */
export async function writeSettingsType(root) {
  const read = (name) => JSON.parse(readFileSync(join(root, 'config', name), 'utf8'));
  const schema = withPresent(read('appliance.schema.json'), Object.keys(read('appliance.json')));
  const text = HEAD + declaration('SettingsFile', schema);
  writeFileSync(join(root, 'src', 'settings-file.ts'), await format(text, STYLE));
}

/**
 * Returns the schema with `required` extended by `names` and by members with a default, at every depth. Validation sets
 * defaults, and config/appliance.json the rest, so that these members are always present afterwards.
 */
function withPresent(schema, names = []) {
  const { properties, required = [] } = schema;
  if (properties === undefined) return schema;
  const withDefault = Object.keys(properties).filter((name) => 'default' in properties[name]);
  const members = Object.entries(properties).map(([name, member]) => [name, withPresent(member)]);
  return {
    ...schema,
    required: [...required, ...names, ...withDefault],
    properties: Object.fromEntries(members),
  };
}
