/** Adds a value to the group of this key, which begins with it where there is none yet. */
export function addTo(groups: Map<string, Set<string>>, key: string, value: string): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, new Set([value]));
  else group.add(value);
}
