import { constants } from 'node:os';

/** An error as Node makes it for a failed call of the system. */
export function errnoError(syscall: string, code: string, address?: string, port?: number): NodeJS.ErrnoException {
  const place = address === undefined ? '' : ` ${address}:${port ?? ''}`;
  const text = syscall === 'listen' ? `listen ${code}: address already in use${place}` : `${syscall} ${code}${place}`;
  const errno = -((constants.errno as Record<string, number>)[code] ?? 0);
  return Object.assign(new Error(text), { errno, code, syscall, ...(address !== undefined && { address, port }) });
}
