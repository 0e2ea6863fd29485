import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

/** A part of a page with a heading. */
export function Section({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const id = useId();
  return (
    <section class="section" aria-labelledby={id}>
      <div class="section-head">
        <h2 id={id}>{title}</h2>
        {aside === undefined ? null : <div class="section-aside">{aside}</div>}
      </div>
      {children}
    </section>
  );
}
