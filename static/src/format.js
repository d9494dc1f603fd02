// The same words and figures as the server's (views/format.go).

export function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes, i = 0;
  while (value >= 999.5 && i < units.length - 1) { value /= 1000; i++; }
  const decimals = i === 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${value.toFixed(decimals)} ${units[i]}`;
}

// coarse rounds down, or up for what is still to come.
export function coarse(ms, up = false) {
  const round = up ? Math.ceil : Math.floor;
  if (ms < 60_000) return `${round(ms / 1000)} s`;
  if (ms < 3_600_000) return `${round(ms / 60_000)} min`;
  if (ms < 48 * 3_600_000) return `${round(ms / 3_600_000)} h`;
  return `${round(ms / 86_400_000)} d`;
}

export function duration(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (big, unit, small, smaller) => (small ? `${big} ${unit} ${small} ${smaller}` : `${big} ${unit}`);
  if (s < 60) return `${s} s`;
  if (s < 3600) return two(Math.floor(s / 60), "min", s % 60, "s");
  if (s < 48 * 3600) return two(Math.floor(s / 3600), "h", Math.floor(s / 60) % 60, "min");
  return two(Math.floor(s / 86400), "d", Math.floor(s / 3600) % 24, "h");
}

export function ago(ms) {
  if (ms > -1000 && ms < 5000) return "just now";
  return ms < 0 ? `in ${coarse(-ms, true)}` : `${coarse(ms)} ago`;
}

export const count = (n) => n.toLocaleString("en-US");

export const plural = (n, noun) => (n === 1 || noun === "series" ? `${count(n)} ${noun}` : `${count(n)} ${noun}s`);
