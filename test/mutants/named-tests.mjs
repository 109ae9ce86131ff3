/** The tests of one file whose names contain one of `named`. */
export function tests(file, ...named) {
  return { files: [`test/${file}.test.ts`], named };
}
