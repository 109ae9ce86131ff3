import { expect } from 'chai';
import { FakeKerberos } from '../../lab/servers/fake-kerberos.ts';
import { rejection } from '../../lab/until.ts';
import { loadKerberos } from '../../packages/kerberos/src/kerberos-package.ts';

const failing = (code: string, message: string) => () => Promise.reject(Object.assign(new Error(message), { code }));

describe('the package kerberos', () => {
  it('is a CommonJS module, whose exports are the default export', async () => {
    const kerberos = new FakeKerberos();
    expect(await loadKerberos(() => Promise.resolve({ default: kerberos }))).to.equal(kerberos);
  });

  for (const [code, message] of [
    ['ERR_MODULE_NOT_FOUND', "Cannot find package 'kerberos' imported from /app/kerberos-package.js"],
    ['MODULE_NOT_FOUND', "Cannot find module 'kerberos'\nRequire stack:\n- /app/kerberos-package.js"],
  ] as const)
    it(`that is not installed (${code}) leads to a TypeError that names the option, and the command`, async () => {
      const error = await rejection(loadKerberos(failing(code, message)));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message)
        .to.contain('`kerberos()`')
        .and.contain('is not installed')
        .and.contain('npm install kerberos');
    });

  for (const [code, reason, more] of [
    ['MODULE_NOT_FOUND', "Cannot find module '../build/Debug/kerberos.node'", '\nRequire stack:\n- /app/util.js'],
    [
      'ERR_MODULE_NOT_FOUND',
      "Cannot find package 'node-addon-api' imported from /app/node_modules/kerberos/index.js",
      '',
    ],
    ['', 'Opening library libgssapi_krb5.so.2 failed: cannot open shared object file', ''],
  ] as const)
    it(`that is there, but fails by ${reason} leads to an error that says so in one line`, async () => {
      const error = await rejection(loadKerberos(failing(code, reason + more)));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.contain(`cannot be loaded: ${reason}. It needs its install script`);
    });
});
