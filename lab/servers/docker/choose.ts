import { zooKeeperImage } from '../choose-zookeeper.ts';

export interface MachineFacts {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Debian, Ubuntu, or another system with apt-get. */
  readonly isDebian: boolean;
  readonly isRoot: boolean;
}

export type EngineChoice =
  { readonly use: 'running' } | { readonly use: 'start' } | { readonly use: 'nothing'; readonly advice: string };

export type ImageChoice =
  | { readonly use: 'present'; readonly image: string }
  | { readonly use: 'build'; readonly image: string }
  | { readonly use: 'nothing'; readonly advice: string };

/** Chooses the Docker engine that answers, else one that is started here. */
export function chooseEngine({
  env,
  answers,
  isDebian,
  isRoot,
}: MachineFacts & { readonly answers: boolean }): EngineChoice {
  if (answers) return { use: 'running' };
  const host = env['DOCKER_HOST'];
  if (host !== undefined)
    return {
      use: 'nothing',
      advice: `No Docker engine answers at DOCKER_HOST=${host}: start it, or unset DOCKER_HOST.`,
    };
  if (isDebian && isRoot) return { use: 'start' };
  return {
    use: 'nothing',
    advice: `No Docker engine answers: start one that has ${zooKeeperImage(env)}, or run this as root on Debian, where it installs one.`,
  };
}

/** Chooses the requested image, else one that is built of Debian's packages, for which nothing has to be pulled. */
export function chooseImage(
  facts: MachineFacts & { readonly present: ReadonlySet<string>; readonly debianImage: string },
): ImageChoice {
  const { env, present, debianImage, isDebian, isRoot } = facts;
  const wanted = zooKeeperImage(env);
  if (present.has(wanted)) return { use: 'present', image: wanted };
  const isAskedFor = env['ZOOKEEPER_IMAGE'] !== undefined;
  if (!isAskedFor && present.has(debianImage)) return { use: 'present', image: debianImage };
  if (!isAskedFor && isDebian && isRoot) return { use: 'build', image: debianImage };
  const orElse = isAskedFor ? 'unset ZOOKEEPER_IMAGE' : 'run this as root on Debian, where it builds one of packages';
  return {
    use: 'nothing',
    advice: `The Docker engine has no image ${wanted}: run \`docker pull ${wanted}\`, or ${orElse}.`,
  };
}
