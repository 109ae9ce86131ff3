import ts from 'typescript';

/** The prose of a file: its comments, and its texts of four words or more; of a page, all outside of code blocks. */
export function passagesOf(file, text) {
  if (file.endsWith('.md')) return ofPage(text);
  const lineAt = (at) => text.slice(0, at).split('\n').length;
  const comments = [...text.matchAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*|(?<=^|\n)\s*#(?!!)[^\n]*/g)].map(
    (match) => ({
      kind: 'comment',
      line: lineAt(match.index),
      text: plain(match[0]),
    }),
  );
  return [...joined(comments), ...(/\.(?:java|py)$/.test(file) ? [] : literals(file, text, lineAt))];
}

function ofPage(text) {
  const passages = [];
  let isCode = false;
  text.split('\n').forEach((line, index) => {
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode;
    else if (!isCode)
      passages.push({
        kind: 'page',
        line: index + 1,
        text: line.replace(/`[^`]*`/g, '`x`').replace(/^[\s#*>|-]+/, ''),
      });
  });
  return passages;
}

/** Without its marks, and without code in backticks. */
function plain(comment) {
  return comment
    .replace(/^\s*(?:\/\*\*?|\/\/|#)|\*\/$/g, '')
    .replace(/^\s*\* ?/gm, '')
    .replace(/`[^`]*`/g, '`x`')
    .trim();
}

/** Lines of `//` that follow one another are one comment. */
function joined(comments) {
  const whole = [];
  for (const { kind, line, text } of comments) {
    const last = whole.at(-1);
    if (last && last.until === line - 1) {
      last.text += ` ${text}`;
      last.until = line;
    } else whole.push({ kind, line, text, until: line + text.split('\n').length - 1 });
  }
  return whole;
}

function literals(file, text, lineAt) {
  const passages = [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
  const visit = (node) => {
    if (
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddle(node) ||
      ts.isTemplateTail(node)
    ) {
      if (node.text.trim().split(/\s+/).length >= 4)
        passages.push({ kind: 'text', line: lineAt(node.getStart(source)), text: node.text.trim() });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return passages;
}
