import { register } from 'tsx/esm/api';

register();
export const { chosenVersion, newestVersion, serverVersions } = await import('../lab/servers/versions.ts');
const { ensureServerJars } = await import('../lab/servers/server-jars.ts');

/** Installs a ZooKeeper. Resolves with the reason why that is not possible, or undefined if it is installed. */
export async function lackOfVersion(version) {
  try {
    await ensureServerJars({ ZOOKEEPER_VERSION: version });
    return undefined;
  } catch (error) {
    return error.message;
  }
}
