/** Formats numbers and times for display. */

export function count(value: number): string {
  return value.toLocaleString('en');
}

/** Returns a number with its noun: `1 protein`, `2,000 proteins`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

export function percent(ratio: number): string {
  return `${Math.round(100 * ratio)} %`;
}

/** Formats an E-value from its natural logarithm, because the value itself underflows: `3.1e-12`, `0.04`, `12`. */
export function eValue(log: number): string {
  const log10 = log / Math.LN10;
  if (log10 >= -3) {
    const value = Math.exp(log);
    return value >= 10 ? count(Math.round(value)) : String(Number(value.toPrecision(2)));
  }
  const exponent = Math.floor(log10);
  const mantissa = (10 ** (log10 - exponent)).toFixed(1);
  return mantissa === '10.0' ? `1.0e${exponent + 1}` : `${mantissa}e${exponent}`;
}

export function seconds(value: number): string {
  if (value < 1) return `${Math.max(1, Math.round(value * 1000))} ms`;
  if (value < 90) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  if (value < 5400) return `${Math.round(value / 60)} min`;
  if (value < 172_800) return `${(value / 3600).toFixed(1)} h`;
  return `${Math.round(value / 86_400)} days`;
}

export function bytes(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let [scaled, unit] = [value, 0];
  while (scaled >= 1000 && unit < units.length - 1) [scaled, unit] = [scaled / 1000, unit + 1];
  return `${scaled >= 100 || unit === 0 ? Math.round(scaled) : scaled.toFixed(1)} ${units[unit]}`;
}

export function moment(iso: string): string {
  const date = new Date(iso);
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
  return `${day}, ${date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })}`;
}

/** Formats a time as `just now` or `5 min ago`, and as a date beyond two days. */
export function ago(iso: string, nowMs = Date.now()): string {
  const passed = (nowMs - Date.parse(iso)) / 1000;
  if (passed < 45) return 'just now';
  return passed < 172_800 ? `${seconds(passed)} ago` : moment(iso);
}

/** Shortens an id for display: `dbr_12345678…`. */
export function shortId(id: string): string {
  return id.length > 16 ? `${id.slice(0, 12)}…` : id;
}
