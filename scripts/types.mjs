// Makes the page's TypeScript types from the schema of the Rust types; `--check` only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { compile } from 'json-schema-to-typescript';

const from = new URL('../www/generated/page.schema.json', import.meta.url);
const to = new URL('../www/generated/report.d.ts', import.meta.url);

// A reference with a description beside it would be written out anonymously: `allOf` keeps the type's name.
const schema = JSON.parse(readFileSync(from, 'utf8'), (_, value) => {
  if (!value?.$ref || Object.keys(value).length === 1) return value;
  const { $ref, ...beside } = value;
  return { ...beside, allOf: [{ $ref }] };
});
const made = await compile(schema, 'Page', {
  additionalProperties: false,
  bannerComment: '/* Made by `npm run types` from the Rust types; do not edit. */',
  style: { singleQuote: true, printWidth: 120 },
});

if (process.argv.includes('--check')) {
  if (readFileSync(to, 'utf8') !== made) {
    console.error('www/generated/report.d.ts is not what the schema says: npm run types');
    process.exit(1);
  }
} else {
  writeFileSync(to, made);
}
