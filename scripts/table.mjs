/** The lines of a table of steps: minutes, tests and name of each, and below a failed one the command that repeats it. */
export function linesOfTable(rows) {
  const width = (key) => Math.max(...rows.map((row) => String(row[key]).length));
  const [passed, failed, skipped] = ['passed', 'failed', 'skipped'].map(width);
  return rows.flatMap((row) => {
    const totals = [
      `${String(row.passed).padStart(passed)} passed`,
      `${String(row.failed).padStart(failed)} failed`,
      `${String(row.skipped).padStart(skipped)} skipped`,
    ];
    const line = `${row.took.toFixed(1).padStart(6)} min  ${totals.join('  ')}  ${row.name}`;
    return row.failed === 0 ? [line] : [line, `${' '.repeat(12)}again: ${row.again}`];
  });
}
