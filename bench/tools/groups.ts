/** Adds a value to the group of a key, and creates the group if needed. */
export function addTo(groups: Map<string, Set<string>>, key: string, value: string): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, new Set([value]));
  else group.add(value);
}
