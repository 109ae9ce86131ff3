// node bare-session.cjs HOST:PORT: opens a session and closes it, and does nothing else. It loads no library.
'use strict';
const { Buffer } = require('node:buffer');
const { connect } = require('node:net');

const [host, port] = process.argv[2].split(':');
const socket = connect({ host, port: Number(port), noDelay: true });
let answers = 0;

// ConnectRequest: protocol version, last zxid, timeout, session id, password, read-only flag.
const open = Buffer.alloc(4 + 4 + 8 + 4 + 8 + 4 + 16 + 1);
open.writeInt32BE(open.length - 4);
open.writeInt32BE(30_000, 16);
open.writeInt32BE(16, 28);
// closeSession: xid, operation -11.
const close = Buffer.alloc(12);
close.writeInt32BE(8);
close.writeInt32BE(1, 4);
close.writeInt32BE(-11, 8);

socket.on('connect', () => socket.write(open));
socket.on('data', () => {
  // Each answer is one small segment: the server sends the second only after the second request.
  answers += 1;
  if (answers === 1) socket.write(close);
  else socket.destroy();
});
socket.on('error', (error) => {
  throw error;
});
