import { printable } from '../../support/printable.js';

/**
 * The words for a participant's znode that no session owns, and for what to do.
 *
 * @param onServers the path with the chroot, because `zkCli.sh` connects without it
 */
export function unownedText(path: string, onServers: string): string {
  return `no session owns ${path}, so it never goes by itself. ${unownedAdvice(onServers)}`;
}

export function unownedAdvice(onServers: string): string {
  return `If no program needs it, delete it: zkCli.sh delete ${shellWord(onServers)}`;
}

/** The text as one word of a shell. Bash reads `$'…'` with the escapes that `printable` writes. */
function shellWord(text: string): string {
  if (/^[\w/.,:=@%+-]+$/.test(text)) return text;
  if (printable(text) !== text) return `$'${printable(text.replace(/[\\']/g, '\\$&'))}'`;
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
