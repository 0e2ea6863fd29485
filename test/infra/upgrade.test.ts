import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkedVariants } from '../../infra/checked-variants.ts';
import { keptIn } from './stateful-resources.ts';
import { templatesFor } from './templates.ts';

/** `only`: deployed by no other of the checked settings. */
const resource = z.looseObject({ type: z.string(), only: z.string().optional() });

const committed = z
  .record(z.string(), z.record(z.string(), resource))
  .parse(JSON.parse(readFileSync(new URL('stateful-resources.json', import.meta.url), 'utf8')));

const committedFor = (variant: string) =>
  Object.fromEntries(
    Object.entries(committed).map(([stack, resources]) => [
      stack,
      Object.fromEntries(
        Object.entries(resources).flatMap(([id, { only, ...kept }]) =>
          only === undefined || only === variant ? [[id, kept]] : [],
        ),
      ),
    ]),
  );

const variants = Object.entries(checkedVariants).map(([name, settings]) => ({ name, settings }));

describe('an upgrade', () => {
  it.each(variants)('finds what holds data where the last release put it: $name', ({ name, settings }) => {
    expect(
      keptIn(templatesFor(settings)),
      [
        'A logical id, or a property that cannot be changed in place, differs from test/infra/stateful-resources.json.',
        'In every deployment there is, the next "cdk deploy" would make that resource anew, and empty: tables and bucket would',
        'be left behind where no function looks, queues and schedules lost with what is in them.',
        'If that is not what you want, give the construct its old id and the property its old value.',
        'A new resource is added to the file. A change that is meant needs a way for the data, told in CHANGELOG.md.',
      ].join('\n'),
    ).toEqual(committedFor(name));
  });

  it('reaches deliver before dispatch, which may send it jobs that only the new one understands', () => {
    const functions = templatesFor({}).pipeline.findResources('AWS::Lambda::Function');
    const idOf = (name: string) =>
      Object.keys(functions).find((id) => id.includes(`Pipeline${name}Function`));
    expect(functions[idOf('Dispatch') ?? '']?.['DependsOn']).toContain(idOf('Deliver'));
  });

  it('is told from the file, not from what the code happens to make', () => {
    expect(Object.values(committed).flatMap((resources) => Object.keys(resources)).length).toBeGreaterThan(
      20,
    );
  });
});
