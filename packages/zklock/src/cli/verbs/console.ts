import { connectionOptions } from '../connect/connection.js';
import { defineVerb } from '../verb.js';

export const webConsole = defineVerb({
  name: 'console',
  summary: 'serve a web page that shows the locks live',
  description: [
    'Serves one page with every lock below ROOT: its holders and since when, its waiters and for how long, the fencing tokens, and the hand-overs and losses of the last minutes. GET /api/locks has the same as JSON.',
    'The page only reads. With --allow-revoke it can ask a holder to release, and take a lock away. Everyone who can reach the port may then do so: keep to 127.0.0.1, or put a proxy with a login in front.',
    'Requests for other host names, and requests of other sites, are refused.',
  ],
  operands: [{ name: 'ROOT', summary: 'the path below which to look; / for everything' }],
  options: {
    host: { kind: 'text', value: 'HOST', summary: 'the address to listen on; 127.0.0.1 by default' },
    port: {
      kind: 'integer',
      value: 'PORT',
      min: 0,
      max: 65_535,
      summary: 'the port to listen on; 8080 by default, 0 for any free one',
    },
    'allow-revoke': { kind: 'flag', summary: 'let the page ask for locks and take them away' },
    ...connectionOptions,
  },
  examples: [
    ['zklock console /locks', 'open http://127.0.0.1:8080/ in a browser'],
    ['zklock console --port 0 --allow-revoke /', 'any free port; the page may take locks away'],
    ['ssh -L 8080:127.0.0.1:8080 ops.example zklock console /locks', 'from another machine, without opening a port'],
  ],
  run: async (args, io) => (await import('../observe/serve-console.js')).serveConsole(args, io),
});
