import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export type Crumb = { text: string; href: string };

/** The page's name: in the window's title, and where the focus goes when the page comes. */
export function PageHeading({
  title,
  crumbs = [],
  kind,
  children,
}: {
  title: string;
  crumbs?: readonly Crumb[];
  kind?: string;
  children?: ComponentChildren;
}): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Posthaste`;
    heading.current?.focus();
  }, [title]);
  return (
    <div class="page-heading">
      {crumbs.length === 0 ? null : (
        <nav aria-label="Where this is">
          <ol class="crumbs">
            {crumbs.map(({ text, href }) => (
              <li key={href}>
                <a href={href}>{text}</a>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="page-heading-row">
        <h1 ref={heading} tabIndex={-1}>
          {kind === undefined ? null : <span class="kind">{kind} </span>}
          {title}
        </h1>
        {children === undefined ? null : <div class="actions">{children}</div>}
      </div>
    </div>
  );
}
