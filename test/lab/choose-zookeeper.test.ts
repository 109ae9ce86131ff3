import { expect } from 'chai';
import { adviseServer, chooseLocal, chooseZooKeeper, type Facts } from '../../lab/servers/choose-zookeeper.ts';

const everything: Facts = {
  env: {},
  dockerHasImage: true,
  jarsPresent: true,
  javaPresent: true,
  isDebian: true,
  isRoot: true,
};
const bareDebian: Facts = { ...everything, dockerHasImage: false, jarsPresent: false, javaPresent: false };

describe('the ZooKeeper of the tests', () => {
  it('is the one that ZOOKEEPER_CONNECT names, whatever else the machine has', () => {
    const env = { ZOOKEEPER_CONNECT: ' zk1:2181,zk2:2181/tests ' };
    expect(chooseZooKeeper({ ...everything, env })).to.deep.equal({
      use: 'environment',
      connectString: 'zk1:2181,zk2:2181/tests',
    });
  });

  for (const value of ['', '  '])
    it(`is not taken from ZOOKEEPER_CONNECT="${value}"`, () => {
      expect(chooseZooKeeper({ ...bareDebian, env: { ZOOKEEPER_CONNECT: value } }).use).to.equal('install');
    });

  it('is a container if Docker has the image, even if the jars are there', () => {
    expect(chooseZooKeeper(everything)).to.deep.equal({ use: 'docker', image: 'zookeeper:3.9' });
  });

  it('is a container of ZOOKEEPER_IMAGE', () => {
    const env = { ZOOKEEPER_IMAGE: 'zookeeper-debian:3.8' };
    expect(chooseZooKeeper({ ...everything, env })).to.deep.equal({ use: 'docker', image: 'zookeeper-debian:3.8' });
  });

  it('is a local process if the jars and java are there', () => {
    expect(chooseZooKeeper({ ...everything, dockerHasImage: false, isDebian: false, isRoot: false })).to.deep.equal({
      use: 'jars',
    });
  });

  it('is installed together with java on a bare Debian', () => {
    expect(chooseZooKeeper(bareDebian)).to.deep.equal({
      use: 'install',
      packages: ['zookeeper', 'default-jre-headless'],
    });
  });

  it('is installed without java if java is there', () => {
    expect(chooseLocal({ ...bareDebian, javaPresent: true })).to.deep.equal({
      use: 'install',
      packages: ['zookeeper'],
    });
  });

  it('is installed if the jars are there but java is not', () => {
    expect(chooseLocal({ ...bareDebian, jarsPresent: true }).use).to.equal('install');
  });

  for (const missing of [{ isRoot: false }, { isDebian: false }])
    it(`is missing, and cannot be installed, with ${JSON.stringify(missing)}`, () => {
      expect(chooseLocal({ ...bareDebian, ...missing })).to.deep.equal({ use: 'nothing' });
    });

  for (const [where, facts, command] of [
    [
      'a user of Debian',
      { isDebian: true, dockerAnswers: true, hasShared: false },
      'sudo apt-get update && sudo apt-get install -y zookeeper default-jre-headless',
    ],
    [
      'another system with Docker',
      { isDebian: false, dockerAnswers: true, hasShared: false },
      'docker pull zookeeper:3.9',
    ],
    [
      'another system without Docker',
      { isDebian: false, dockerAnswers: false, hasShared: false },
      'export ZOOKEEPER_CONNECT=127.0.0.1:2181',
    ],
  ] as const)
    it(`can be installed with one command, which ${where} gets as advice`, () => {
      const lines = adviseServer({ env: {}, ...facts }).split('\n');
      expect(lines.filter((line) => line.startsWith('  '))).to.deep.equal([`  ${command}`]);
    });

  it('cannot be started for tests that need their own, which the advice says if another one serves the rest', () => {
    const advice = adviseServer({ env: {}, isDebian: false, dockerAnswers: true, hasShared: true });
    expect(advice).to.match(/^No ZooKeeper server that tests can stop and start: .*Debian or Ubuntu/);
  });
});
