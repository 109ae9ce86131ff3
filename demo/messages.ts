import type { ConnectionState } from '../src/index.js';
import type { Ask, Entry, Job, Visit } from './job.ts';

/** The messages of the main process to a worker. */
export type Order =
  | {
      readonly is: 'connect';
      readonly worker: number;
      readonly connectString: string;
      readonly lockPath: string;
      readonly markerPath: string;
    }
  | { readonly is: 'begin'; readonly jobs: readonly Job[] }
  /** Release everything, close the client, and end. */
  | { readonly is: 'stop' };

/** The messages of a worker to the main process. */
export type News =
  | { readonly is: 'ready' }
  /** A change of the worker's connection to ZooKeeper. */
  | { readonly is: 'connection'; readonly state: ConnectionState }
  | { readonly is: 'asked'; readonly ask: Ask }
  | { readonly is: 'granted'; readonly entry: Entry }
  | { readonly is: 'left'; readonly visit: Visit }
  /** The server has deleted the job's znode. */
  | { readonly is: 'done'; readonly job: number }
  | { readonly is: 'failed'; readonly what: string };

/** The channel also carries messages of tsx, which reports to the parent process which files it loads. */
export function isNews(message: unknown): message is News {
  return typeof message === 'object' && message !== null && 'is' in message;
}
