import { expect } from 'chai';
import { chooseEngine, chooseImage } from '../../lab/servers/docker/choose.ts';
import { missingPackages } from '../../lab/servers/docker/debian.ts';

const rootOnDebian = { env: {}, isDebian: true, isRoot: true };

describe('the Docker engine of the tests', () => {
  it('is the one that answers, on any machine', () => {
    expect(chooseEngine({ env: {}, answers: true, isDebian: false, isRoot: false })).to.deep.equal({ use: 'running' });
  });

  it('is started if none answers, on Debian as root', () => {
    expect(chooseEngine({ ...rootOnDebian, answers: false })).to.deep.equal({ use: 'start' });
  });

  for (const [who, facts] of [
    ['root of another system', { ...rootOnDebian, isDebian: false }],
    ['a user of Debian', { ...rootOnDebian, isRoot: false }],
  ] as const)
    it(`is not started for ${who}: the error says what to do`, () => {
      expect(chooseEngine({ ...facts, answers: false })).to.deep.equal({
        use: 'nothing',
        advice:
          'No Docker engine answers: start one that has zookeeper:3.9, or run this as root on Debian, where it installs one.',
      });
    });

  it('is not started if DOCKER_HOST names another one that does not answer', () => {
    expect(chooseEngine({ ...rootOnDebian, env: { DOCKER_HOST: 'tcp://docker:2375' }, answers: false })).to.deep.equal({
      use: 'nothing',
      advice: 'No Docker engine answers at DOCKER_HOST=tcp://docker:2375: start it, or unset DOCKER_HOST.',
    });
  });
});

describe('the ZooKeeper image of the tests', () => {
  const debianImage = 'zookeeper-debian:1';
  const choose = (present: string[], facts: Partial<typeof rootOnDebian> & { env?: Record<string, string> } = {}) =>
    chooseImage({ ...rootOnDebian, debianImage, ...facts, present: new Set(present) });

  it('is the official one if the engine has it', () => {
    expect(choose(['zookeeper:3.9', debianImage])).to.deep.equal({ use: 'present', image: 'zookeeper:3.9' });
  });

  it('is the one that ZOOKEEPER_IMAGE names', () => {
    const env = { ZOOKEEPER_IMAGE: 'zookeeper:3.5' };
    expect(choose(['zookeeper:3.5', 'zookeeper:3.9'], { env })).to.deep.equal({
      use: 'present',
      image: 'zookeeper:3.5',
    });
  });

  it('is the one that was built before', () => {
    expect(choose([debianImage], { isRoot: false })).to.deep.equal({ use: 'present', image: debianImage });
  });

  it('is built if the engine has none, on Debian as root', () => {
    expect(choose([])).to.deep.equal({ use: 'build', image: debianImage });
  });

  it('is not replaced by another one if ZOOKEEPER_IMAGE names a missing image', () => {
    expect(choose([debianImage], { env: { ZOOKEEPER_IMAGE: 'zookeeper:3.5' } })).to.deep.equal({
      use: 'nothing',
      advice:
        'The Docker engine has no image zookeeper:3.5: run `docker pull zookeeper:3.5`, or unset ZOOKEEPER_IMAGE.',
    });
  });

  it('is not built on other machines: the error says what to do', () => {
    expect(choose([], { isDebian: false })).to.deep.equal({
      use: 'nothing',
      advice:
        'The Docker engine has no image zookeeper:3.9: run `docker pull zookeeper:3.9`, or run this as root on Debian, where it builds one of packages.',
    });
  });
});

describe("Debian's packages of Docker", () => {
  it('are each installed once, and only if the command is missing', () => {
    expect(
      missingPackages(['dockerd', 'docker', 'debootstrap', 'docker-compose'], (name) => name === 'docker-compose'),
    ).to.deep.equal(['docker.io', 'debootstrap']);
    expect(missingPackages(['dockerd', 'debootstrap'], () => true)).to.deep.equal([]);
  });
});
