/** @module @zookeeper-fair-lock/kerberos */

export { kerberos } from './mechanism.js';
export type { KerberosAccount } from './kerberos-account.js';
