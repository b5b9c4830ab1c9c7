// Makes a component: componentize.mjs WIT WORLD OUTPUT DISABLED-FEATURES SOURCE…
// The sources are modules without imports; they are joined, since one is taken.

import { readFile, writeFile } from 'node:fs/promises';
import { componentize } from '@bytecodealliance/componentize-js';

const [wit, world, output, disabled, ...sources] = process.argv.slice(2);
const texts = await Promise.all(sources.map((source) => readFile(source, 'utf8')));
const { component } = await componentize(texts.join('\n'), await readFile(wit, 'utf8'), {
  worldName: world,
  disableFeatures: disabled === '' ? [] : disabled.split(','),
});
await writeFile(output, component);
