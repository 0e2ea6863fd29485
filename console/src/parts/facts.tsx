import type { ComponentChildren, JSX } from 'preact';

export type Fact = readonly [name: string, value: ComponentChildren];

/** Names and what they come to. What is undefined is left out. */
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
