import { expect } from 'chai';
import { readOptions, type Plans } from '../../simulation/options.ts';

const plansOf = (line: string): Plans['then'] => readOptions(line.split(' ')).plans.then;

describe('the options of the simulation', () => {
  it('run one seed, a range or a plan, or seeds without an end if there is a time', () => {
    expect(plansOf('--seeds 7')).to.include({ are: 'seeds', from: 7, to: 7 });
    expect(plansOf('--seeds 7..9')).to.include({ are: 'seeds', from: 7, to: 9 });
    expect(plansOf('--seeds 7 --minutes 1')).to.include({ from: 7, to: Infinity });
    expect(plansOf('--minutes 1')).to.include({ to: Infinity });
    expect(plansOf('--steps 9')).to.include({ from: 1, to: 1_000 });
    expect(plansOf('--seeds 7~9')).to.deep.equal({ are: 'one', lineage: [7, 9] });
  });

  it('end a steered run with its seeds', () => {
    expect(plansOf('--seeds 7..9 --steer a.txt')).to.include({ from: 7, to: 9, steered: 'a.txt' });
    expect(plansOf('--steer a.txt')).to.include({ from: 1, to: 1_000, steered: 'a.txt' });
    expect(plansOf('--steer a.txt --minutes 1')).to.include({ to: Infinity, steered: 'a.txt' });
  });

  it('refuse seeds that would run nothing, or would be ignored', () => {
    for (const seeds of ['9..7', 'a', '1..2..3', '9007199254740993', '7~9 --steer a.txt'])
      expect(() => plansOf(`--seeds ${seeds}`), seeds).to.throw(RangeError, 'Expected --seeds to be one seed');
  });
});
