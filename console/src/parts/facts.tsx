import type { ComponentChildren, JSX } from 'preact';

export type Fact = readonly [name: string, value: ComponentChildren];

/** A list of names and values. Undefined values are left out. */
export function Facts({ facts }: { facts: readonly Fact[] }): JSX.Element {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name} class="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
