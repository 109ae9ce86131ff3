import { expect } from 'chai';
import { readFileSync } from 'node:fs';

describe('docker-compose.yml', () => {
  const text = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
  const published = [...text.matchAll(/^ +ports: \['(.*)'\]$/gm)].map(([, port]) => port);

  it('publishes on this machine only, and by default on the ports that its first lines name', () => {
    expect(published).to.deep.equal([
      '127.0.0.1:${ZOO1_PORT:-2181}:2181',
      '127.0.0.1:${ZOO2_PORT:-2182}:2181',
      '127.0.0.1:${ZOO3_PORT:-2183}:2181',
    ]);
    expect(text).to.match(/^# +ZOOKEEPER_CONNECT=127\.0\.0\.1:2181,127\.0\.0\.1:2182,127\.0\.0\.1:2183 npm test$/m);
  });

  it('publishes nothing else', () => {
    expect(text.match(/ports:/g)).to.have.length(published.length);
    expect(text).not.to.contain('network_mode');
  });

  it('uses the image that ZOOKEEPER_IMAGE names, otherwise the official one', () => {
    expect([...text.matchAll(/^ *image: (.*)$/gm)].map(([, image]) => image)).to.deep.equal([
      '${ZOOKEEPER_IMAGE:-zookeeper:3.9}',
    ]);
  });
});
