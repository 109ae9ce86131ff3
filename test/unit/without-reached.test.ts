import { expect } from 'chai';

const { withoutReached } = (await import(new URL('../../scripts/without-reached.mjs', import.meta.url).href)) as {
  withoutReached(text: string): string;
};

const imported = "import { reached } from '../support/reached.js';\n";
const mark = "reached('ghost: dialled again')";

describe('the build', () => {
  it('takes the marks of the simulation out, and leaves the statements around them', () => {
    const text = `${imported}if (a) ${mark};\nb();\nif (c) {\n  ${mark};\n  d();\n}\n`;
    expect(withoutReached(text)).to.equal('if (a) ;\nb();\nif (c) {\n  ;\n  d();\n}\n');
    const other = 'reached(client);\n';
    expect(withoutReached(other)).to.equal(other);
  });

  it('fails for a mark that is no statement of its own', () => {
    for (const line of [`return a && ${mark};`, 'reached(name);'])
      expect(() => withoutReached(`${imported}${line}\n`), line).to.throw('A call of reached() cannot be taken out');
  });
});
