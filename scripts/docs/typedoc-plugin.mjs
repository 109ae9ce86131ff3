// Each page of the site gets its name, its place and its group from docs/index.md. llms.txt lists all pages, with a line
// each.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { Application, Converter, ReflectionKind, RendererEvent } from 'typedoc';

const index = 'docs/index.md';

export function load(app) {
  const guide = readGuide();

  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const file = fileOf(app, document);
    document.name = file.replace(/^docs\//, '').replace(/\.md$/, ''); // its URL is made of this
    document.frontmatter.group = guide.find((entry) => entry.file === file)?.group ?? 'Project';
  });

  // After the groups are made, which sort the pages by name. The place in the index is what a reader expects.
  app.converter.on(
    Converter.EVENT_RESOLVE_END,
    ({ project }) => {
      const place = (child) => guide.findIndex(({ file }) => file === fileOf(app, child));
      const sorted = (children) => children?.sort((a, b) => place(a) - place(b));
      linkApiReference(project);
      sorted(project.documents);
      for (const group of project.groups ?? [])
        if (group.children.every((child) => child.isDocument())) sorted(group.children);
    },
    -1_000,
  );

  app.on(Application.EVENT_BOOTSTRAP_END, () => app.options.setValue('markdownItLoader', loadMarkdownIt));

  app.renderer.on(RendererEvent.BEGIN, ({ project }) => {
    for (const document of documentsOf(project))
      document.name = guide.find(({ file }) => file === fileOf(app, document))?.name ?? headingOf(document);
  });

  app.renderer.on(RendererEvent.END, ({ project, outputDirectory }) => {
    const urlOf = (reflection) => app.renderer.router.getFullUrl(reflection);
    const documents = documentsOf(project);
    const lines = guide.flatMap(({ file, line, group }, at) => {
      const document = documents.find((each) => fileOf(app, each) === file);
      if (!document) throw new Error(`${index} lists ${file}, which is no page of the site`);
      const isFirst = guide[at - 1]?.group !== group;
      return [...(isFirst ? [`\n## ${group}\n`] : []), `- [${document.name}](${urlOf(document)}): ${line}`];
    });
    const modules = project.getReflectionsByKind(ReflectionKind.Module);
    const names = modules.flatMap((module) =>
      (module.children ?? []).map(
        (child) => `- [${child.name}](${urlOf(child)}): ${ReflectionKind.singularString(child.kind).toLowerCase()}`,
      ),
    );
    const { description } = JSON.parse(readFileSync('package.json', 'utf8'));
    writeFileSync(
      join(outputDirectory, 'llms.txt'),
      `# ${project.name}\n\n> ${description}\n${lines.join('\n')}\n\n## API reference\n\n${names.join('\n')}\n`,
    );
  });
}

/** The pages in the order of the index, which is the first of them, each with its section and its line there. */
function readGuide() {
  const guide = [{ file: index, group: 'Guide', name: 'All pages', line: 'All pages of the guide, one line each.' }];
  let group = 'Guide';
  for (const text of readFileSync(index, 'utf8').split('\n')) {
    group = /^## (.*)/.exec(text)?.[1] ?? group;
    const [, name, link, line] = /^- \[([^\]]*)\]\(([^)]+)\): (.*)/.exec(text) ?? [];
    if (link) guide.push({ file: join('docs', link).replaceAll('\\', '/'), group, name, line });
  }
  return guide;
}

function documentsOf(project) {
  return Object.values(project.reflections).filter((reflection) => reflection.isDocument());
}

function fileOf(app, reflection) {
  const path = app.files && reflection.project.files.getReflectionPath(reflection);
  return path && relative(process.cwd(), resolve(path)).replaceAll('\\', '/');
}

function headingOf({ content }) {
  const text = content.map((part) => part.text).join('');
  return /^# (.*)/m.exec(text)[1];
}

/** README.md tells a reader on GitHub or npm how to write the API reference. A reader of the site gets a link to it. */
function linkApiReference({ readme = [] }) {
  const before = /the\s+API\s+reference, which $/;
  const after = /^ writes in a clone of the repository/;
  const at = readme.findIndex(({ text }, index) => before.test(text) && after.test(readme[index + 2]?.text));
  if (at === -1) throw new Error('README.md does not say where the API reference is');
  readme[at].text = readme[at].text.replace(before, 'the [API reference](modules.html)');
  readme[at + 1].text = ''; // the command, as code
  readme[at + 2].text = readme[at + 2].text.replace(after, '');
}

function loadMarkdownIt(parser) {
  countCodeOfHeadings(parser);
  // Otherwise a name such as README.md becomes a link to a host, because md is a top-level domain.
  parser.linkify.set({ fuzzyLink: false });
}

/** TypeDoc makes the anchor of a heading without its code in backticks; GitHub makes it with them. */
function countCodeOfHeadings(parser) {
  parser.core.ruler.push('code of headings', ({ tokens, Token }) => {
    tokens.forEach(({ type }, at) => {
      if (type !== 'heading_open') return;
      for (const child of tokens[at + 1].children ?? []) {
        if (child.type !== 'code_inline') continue;
        const text = new Token('text', '', 0);
        text.content = child.content;
        child.children = [text];
      }
    });
  });
}
