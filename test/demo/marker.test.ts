import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect } from 'chai';
import { Marker, markerPath } from '../../demo/marker.ts';

describe("the demo's marker", () => {
  const path = markerPath();
  after(() => rmSync(dirname(path), { recursive: true }));

  it('lets one job in, and reports to the next that another job is inside', () => {
    const [one, other] = [new Marker(path), new Marker(path)];
    expect(one.enter()).to.equal(true);
    expect(other.enter()).to.equal(false);
    one.leave();
    expect(other.enter()).to.equal(true);
    other.leave();
  });

  it('fails if it cannot be created, instead of reporting that no job is inside', () => {
    expect(() => new Marker(`${path}/nowhere/inside`).enter()).to.throw(/ENOENT/);
  });
});
