/** The text in exactly this width. A cut is shown by `…`. */
export function fitted(text: string, width: number): string {
  if (text.length <= width) return text.padEnd(width);
  return width > 0 ? `${text.slice(0, width - 1)}…` : '';
}

/** A duration for people: `4s`, `2m 10s`, `3h 05m`, `2d 04h`. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days}d ${twoDigits(hours)}h`;
  if (hours > 0) return `${hours}h ${twoDigits(minutes)}m`;
  return minutes > 0 ? `${minutes}m ${twoDigits(seconds % 60)}s` : `${seconds}s`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
