import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export type Crumb = { text: string; href: string };

/** The heading of a page. It also sets the window title, and takes the focus when the page opens. */
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
        <nav aria-label="Breadcrumb">
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
