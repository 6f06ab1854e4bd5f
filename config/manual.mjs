// Renders the manual of docs/ into dist/manual: pages.json with the HTML of each page, search.json with the text of each
// section, and the pictures under names that contain their hash. markdown-it is a development dependency; a packed
// release has dist and does without.
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';

const INDEX = 'README.md';
/** Code that names an address of the appliance becomes a link on the served page. The repository has no such address. */
const SERVED = {
  '/docs/api': 'api',
  '/docs/errors': 'errors',
  '/console/': '../console/',
  '/openapi.json': '../openapi.json',
};

/** @param root the package's folder */
export async function buildManual(root) {
  const { default: createMarkdown } = await import('markdown-it');
  const source = join(root, 'docs');
  const target = join(root, 'dist', 'manual');
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const pictures = copyPictures(join(source, 'images'), target);
  const groups = readGroups(readFileSync(join(source, INDEX), 'utf8'));
  const names = [INDEX, ...groups.flatMap(({ pages }) => pages.map(({ name }) => `${name}.md`))];
  const pages = names.map((file) => {
    const markdown = createMarkdown({ html: true, linkify: false });
    return renderPage(markdown, file, readFileSync(join(source, file), 'utf8'), pictures);
  });
  const sections = pages.flatMap(({ sections: ofPage }) => ofPage);
  const written = pages.map(({ name, title, html, headings }) => ({ name, title, html, headings }));
  writeFileSync(join(target, 'pages.json'), JSON.stringify({ groups, pages: written }));
  writeHashed(target, 'search.json', JSON.stringify(sections));
}

/** Groups of pages in the order of the index: headings of the second level and the lists below them. */
function readGroups(index) {
  const groups = [];
  for (const line of index.split('\n')) {
    const [, title] = /^## (.+)$/.exec(line) ?? [];
    if (title !== undefined) groups.push({ title, pages: [] });
    const [, label, name] = /^- \[([^\]]+)\]\(([a-z-]+)\.md\)/.exec(line) ?? [];
    if (name !== undefined) groups.at(-1).pages.push({ name, title: label });
  }
  return groups.filter(({ pages }) => pages.length > 0);
}

function renderPage(markdown, file, text, pictures) {
  const name = file === INDEX ? '' : basename(file, '.md');
  const tokens = markdown.parse(text, {});
  const headings = [];
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const label = plainText(tokens[index + 1]);
      const id = anchorOf(label);
      token.attrSet('id', id);
      headings.push({ level: Number(token.tag.slice(1)), id, text: label });
    }
    if (token.type === 'th_open' || token.type === 'td_open') useClassForAlignment(token);
    if (token.type === 'inline') for (const child of token.children) rewriteInline(child, pictures);
    // Comments mark generated parts and commands for programs.
    if (token.type === 'html_block') token.content = token.content.replace(/<!--[\s\S]*?-->/g, '');
  }
  markdown.renderer.rules.table_open = () => '<div class="table" tabindex="0"><table>\n';
  markdown.renderer.rules.table_close = () => '</table></div>\n';
  markdown.renderer.rules.fence = (list, at) => {
    const [language = ''] = list[at].info.trim().split(/\s+/);
    const content = markdown.utils.escapeHtml(list[at].content);
    return `<pre tabindex="0" class="${language || 'text'}"><code>${content}</code></pre>\n`;
  };
  markdown.renderer.rules.code_inline = (list, at) => {
    const { content } = list[at];
    const code = `<code>${markdown.utils.escapeHtml(content)}</code>`;
    return Object.hasOwn(SERVED, content) ? `<a href="${SERVED[content]}">${code}</a>` : code;
  };
  const html = markdown.renderer.render(tokens, markdown.options, {});
  return { name, title: headings[0].text, html, headings, sections: sectionsOf(tokens, name, headings) };
}

/** The policy of the page refuses style attributes. */
function useClassForAlignment(token) {
  const style = token.attrGet('style');
  if (style === null) return;
  token.attrs = token.attrs.filter(([attribute]) => attribute !== 'style');
  if (style.includes('right')) token.attrSet('class', 'number');
}

function rewriteInline(token, pictures) {
  if (token.type === 'image') {
    const file = basename(token.attrGet('src'));
    const picture = pictures.get(file);
    if (picture === undefined) throw new Error(`docs/images has no ${file}`);
    token.attrSet('src', `files/${picture}`);
  }
  if (token.type !== 'link_open') return;
  const href = token.attrGet('href');
  if (/^(\w+:|#)/.test(href)) return;
  const [path, anchor] = href.split('#');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (path === INDEX) token.attrSet('href', `./${hash}`);
  else if (/^[a-z-]+\.md$/.test(path)) token.attrSet('href', `${basename(path, '.md')}${hash}`);
  else {
    // A file of the repository outside docs, which the appliance does not serve.
    token.attrs = [
      ['class', 'repository'],
      ['title', `${path.replace(/^(\.\.\/)+/, '')} in the repository`],
    ];
  }
}

/** Text under each heading, for the search of the page. */
function sectionsOf(tokens, page, headings) {
  const sections = [];
  const title = headings[0].text;
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const heading = plainText(tokens[index + 1]);
      sections.push({ page, title, heading, anchor: anchorOf(heading), text: '' });
    } else if (token.type === 'inline' && tokens[index - 1]?.type !== 'heading_open') {
      sections.at(-1).text += `${plainText(token)} `;
    } else if (token.type === 'fence') {
      sections.at(-1).text += `${token.content.replace(/\s+/g, ' ')} `;
    }
  }
  return sections.map((section) => ({ ...section, text: section.text.trim() }));
}

function plainText({ children }) {
  return children.map(({ type, content }) => (type === 'softbreak' ? ' ' : content)).join('');
}

/** The name by which a forge, too, links to a heading. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

/** Returns the name of each copy by the name of the picture. */
function copyPictures(folder, target) {
  const pictures = readdirSync(folder).filter((file) => /\.(svg|png|webp)$/.test(file));
  return new Map(
    pictures.map((file) => {
      const bytes = readFileSync(join(folder, file));
      const name = hashedName(file, bytes);
      copyFileSync(join(folder, file), join(target, name));
      return [file, name];
    }),
  );
}

function writeHashed(target, file, text) {
  writeFileSync(join(target, hashedName(file, text)), text);
}

function hashedName(file, bytes) {
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 8).toUpperCase();
  const end = extname(file);
  return `${basename(file, end)}-${digest}${end}`;
}
