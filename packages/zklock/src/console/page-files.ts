import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import folder from './page/folder.cjs';

/** A file of the page, as the console sends it. */
export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
}

/**
 * The files of the page by their names in the URL, read once.
 *
 * @param token goes into the page, for its requests that change something; empty if there are none
 */
export function readPageFiles(token: string): ReadonlyMap<string, PageFile> {
  // The command is bundled into one file in the folder above.
  const pages = basename(folder) === 'page' ? folder : join(folder, 'console', 'page');
  const files = names.map((name): [string, PageFile] => {
    const body = readFileSync(join(pages, name));
    return [name, { type: types[name.slice(name.lastIndexOf('.') + 1)] ?? 'text/plain', body }];
  });
  const page = readFileSync(join(pages, 'index.html'), 'utf8').replace('{{token}}', token);
  return new Map([...files, ['', { type: types['html'] ?? 'text/html', body: Buffer.from(page) }]]);
}

const names = [
  'console.css',
  'console.js',
  'control.js',
  'details.js',
  'icon.svg',
  'locks.js',
  'text.js',
  'timeline.js',
  'view.js',
];

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
