/** The words for a participant's znode that no session owns, and for what to do. */
export function unownedText(path: string): string {
  return `no session owns ${path}, so it never goes by itself. ${unownedAdvice(path)}`;
}

export function unownedAdvice(path: string): string {
  return `If no program needs it, delete it: zkCli.sh delete ${path}`;
}
